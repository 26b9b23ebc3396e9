#include "command/named_files.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <system_error>

#include "base/error.hpp"
#include "base/file_descriptor.hpp"
#include "base/text.hpp"

namespace framewire {

namespace {

/// What open() would create for a path where nothing is: a link may lead there.
std::filesystem::path behind_links(std::filesystem::path path) {
  constexpr int most_links = 40;  // as the kernel; a circle is no path to a file
  std::error_code error;
  for (int i = 0; i < most_links && std::filesystem::is_symlink(path, error); ++i) {
    path = path.parent_path() / std::filesystem::read_symlink(path, error);
  }
  return path;
}

std::string folder_of(const std::filesystem::path& path) {
  return path.has_parent_path() ? path.parent_path().string() : ".";
}

bool is_about_folder(int error_number) {
  return error_number == EACCES || error_number == EPERM || error_number == EROFS || error_number == ENOENT;
}

/// Why a file that is there cannot be written, as errno; 0: it can. access() does not know whether there is anything
/// behind a device. But the other end of a named pipe would notice that it is opened.
int fault_of(const std::string& file, const struct stat& status) {
  if (S_ISREG(status.st_mode) || S_ISFIFO(status.st_mode)) {
    return ::access(file.c_str(), W_OK) == 0 ? 0 : errno;
  }
  const FileDescriptor opened(::open(file.c_str(), O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  return opened.valid() ? 0 : errno;
}

}  // namespace

void NamedFiles::uses(std::string_view what, std::string_view text, const std::string& path) {
  add(what, text, place_of(path), false);
}

void NamedFiles::uses(std::string_view what, std::string_view text, int fd) {
  struct stat status {};
  if (::fstat(fd, &status) == 0) {
    add(what, text, place_of(status), false);
  }
}

void NamedFiles::uses(std::string_view option, const PortDescriptors& port) {
  uses(option, std::to_string(port.reads), port.reads);
  uses(option, std::to_string(port.writes), port.writes);
}

void NamedFiles::uses_key(const std::optional<std::string>& file) {
  if (file) {
    uses("--key", *file, *file);
  }
}

void NamedFiles::writes(std::string_view option, const std::string& path) {
  add(option, path, place_of(path), true);
}

void NamedFiles::require_distinct() const {
  for (const Named& result : files_) {
    for (const Named& other : files_) {
      if (result.is_result && &other != &result && other.place == result.place) {
        throw Error::usage(result.what + " and " + other.what + " are the same file; name another file for " +
                           result.option);
      }
    }
  }
}

std::optional<NamedFiles::Place> NamedFiles::place_of(const struct stat& status) {
  if (S_ISCHR(status.st_mode) || S_ISDIR(status.st_mode)) {
    return std::nullopt;
  }
  if (S_ISBLK(status.st_mode)) {  // may have several device files, each with its own inode
    return Place{.device = status.st_rdev};
  }
  return Place{.device = status.st_dev, .inode = status.st_ino};
}

std::optional<NamedFiles::Place> NamedFiles::place_of(const std::string& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) == 0) {
    return place_of(status);
  }
  if (errno != ENOENT) {
    return std::nullopt;
  }
  const std::filesystem::path made = behind_links(path);
  if (::stat(folder_of(made).c_str(), &status) != 0) {
    return std::nullopt;
  }
  return Place{.device = status.st_dev, .inode = status.st_ino, .name = made.filename().string()};
}

void NamedFiles::add(std::string_view what, std::string_view text, const std::optional<Place>& place, bool is_result) {
  if (place) {
    files_.push_back({.what = std::string(what) + (text.empty() ? "" : " " + quote(text)),
                      .option = std::string(what),
                      .place = *place,
                      .is_result = is_result});
  }
}

void require_writable(const std::string& file, std::string_view what) {
  struct stat status {};
  int why = ::stat(file.c_str(), &status) == 0 ? 0 : errno;
  if (why == 0 && S_ISDIR(status.st_mode)) {
    throw Error::failed(std::string(what) + " is " + quote(file) + ", a directory; name a file in it");
  }
  if (why == 0) {
    why = fault_of(file, status);
  } else if (why == ENOENT) {
    why = ::access(folder_of(behind_links(file)).c_str(), W_OK | X_OK) == 0 ? 0 : errno;
  }
  if (why != 0) {
    throw Error::failed(std::string(what) + " is " + quote(file) + ", which cannot be written (" + errno_text(why) +
                        "); name " + (is_about_folder(why) ? "a file in a folder that is yours" : "another file"));
  }
}

}  // namespace framewire
