#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdint>

#include "base/error.hpp"
#include "base/file_descriptor.hpp"
#include "base/text.hpp"
#include "viewer/scene_file.hpp"

namespace framewire {

std::string read_scene_text(const std::string& file) {
  const std::string what = "the scene " + quote(file);
  const FileDescriptor opened(::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  struct stat status {};
  if (!opened.valid() || ::fstat(opened.get(), &status) != 0) {
    throw Error::from_errno("open " + what, errno);
  }
  if (!S_ISREG(status.st_mode)) {
    throw Error::failed("cannot read " + what + ": it is no regular file");
  }
  std::string text;
  const auto check_size = [&](std::uint64_t bytes) {
    if (bytes > max_scene_bytes) {
      throw Error::failed(
          fmt::format("cannot read {}: it has more than the {} bytes that a scene takes", what, max_scene_bytes));
    }
  };
  check_size(static_cast<std::uint64_t>(status.st_size));
  std::array<char, 16384> part{};
  for (;;) {
    const ssize_t got = ::read(opened.get(), part.data(), part.size());
    if (got > 0) {
      text.append(part.data(), static_cast<std::size_t>(got));
      check_size(text.size());
    } else if (got == 0) {
      return text;
    } else if (errno != EINTR) {
      throw Error::from_errno("read " + what, errno);
    }
  }
}

}  // namespace framewire
