#include "viewer/screenshot.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <filesystem>

#include "base/error.hpp"
#include "base/file_descriptor.hpp"
#include "base/text.hpp"
#include "media/png.hpp"

namespace framewire {

namespace {

/// Creates an empty file, so that no other viewer takes its name.
std::string claim_new_file(const std::string& file) {
  constexpr int most = 10'000;
  const std::filesystem::path path(file);
  std::string name = file;
  for (int number = 2;; ++number) {
    const FileDescriptor made(::open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
    if (made.valid()) {
      return name;
    }
    if (errno != EEXIST || number > most) {
      throw Error::from_errno("write the screenshot " + quote(name), errno);
    }
    name = path.parent_path() / (path.stem().string() + "-" + std::to_string(number) + path.extension().string());
  }
}

}  // namespace

std::string screenshot_name(std::time_t at) {
  std::tm local{};
  ::localtime_r(&at, &local);
  std::array<char, 64> text{};
  std::strftime(text.data(), text.size(), "framewire-%Y%m%d-%H%M%S.png", &local);
  return text.data();
}

void write_screenshot(const std::string& file, const Image& image) {
  if (const auto fault = write_png(file, image.size.width, image.size.height, image.pixels)) {
    throw Error::failed(*fault);
  }
}

std::string write_new_screenshot(const std::string& file, const Image& image) {
  std::string claimed = claim_new_file(file);
  try {
    write_screenshot(claimed, image);
  } catch (...) {
    ::unlink(claimed.c_str());
    throw;
  }
  return claimed;
}

}  // namespace framewire
