#include "viewer/output_files.hpp"

#include <unistd.h>

#include <array>
#include <cerrno>
#include <filesystem>

#include "base/error.hpp"
#include "media/png.hpp"

namespace framewire {

void require_writable(const std::string& file, std::string_view what) {
  const std::filesystem::path path(file);
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored)) {
    throw Error::failed(std::string(what) + " is " + quoted(file) + ", a directory; name a file in it");
  }
  const bool exists = ::access(file.c_str(), F_OK) == 0;
  const std::string folder = path.has_parent_path() ? path.parent_path().string() : ".";
  if (::access(exists ? file.c_str() : folder.c_str(), exists ? W_OK : W_OK | X_OK) != 0) {
    const int why = errno;
    throw Error::failed(std::string(what) + " is " + quoted(file) + ", which cannot be written (" + errno_text(why) +
                        "); name a file in a folder that is yours");
  }
}

std::string screenshot_name(std::time_t at) {
  std::tm local{};
  ::localtime_r(&at, &local);
  std::array<char, 64> text{};
  std::strftime(text.data(), text.size(), "framewire-%Y%m%d-%H%M%S.png", &local);
  return text.data();
}

void write_screenshot(const std::string& file, const Picture& picture) {
  if (const auto fault = write_png(file, picture.size.width, picture.size.height, picture.pixels)) {
    throw Error::failed(*fault);
  }
}

}  // namespace framewire
