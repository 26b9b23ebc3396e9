#include "viewer/new_file.hpp"

#include <fcntl.h>

#include <array>
#include <cerrno>
#include <filesystem>

#include "base/error.hpp"
#include "base/file_descriptor.hpp"
#include "base/text.hpp"

namespace framewire {

std::string timed_name(std::time_t at, std::string_view extension) {
  std::tm local{};
  ::localtime_r(&at, &local);
  std::array<char, 64> text{};
  std::strftime(text.data(), text.size(), "framewire-%Y%m%d-%H%M%S", &local);
  return text.data() + std::string(extension);
}

std::string claim_new_file(const std::string& file, const std::string& what) {
  constexpr int most = 10'000;
  const std::filesystem::path path(file);
  std::string name = file;
  for (int number = 2;; ++number) {
    const FileDescriptor made(::open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
    if (made.valid()) {
      return name;
    }
    if (errno != EEXIST || number > most) {
      throw Error::from_errno("write " + what + " " + quote(name), errno);
    }
    name = path.parent_path() / (path.stem().string() + "-" + std::to_string(number) + path.extension().string());
  }
}

}  // namespace framewire
