#include "command/result_file.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/pipe.hpp"
#include "base/text.hpp"
#include "base/wait.hpp"

namespace framewire {

ResultFile::ResultFile(std::string path, Purpose purpose)
    : path_(std::move(path)), purpose_(purpose), is_pipe_(is_named_pipe(path_)) {
  constexpr int flags = O_WRONLY | O_CREAT | O_CLOEXEC | O_NOCTTY;
  if (is_pipe_) {
    file_ = open_named_pipe(path_, [] { return true; });
  } else {
    file_.reset(::open(path_.c_str(), flags | O_EXCL, 0666));
    is_new_ = file_.valid();
    if (!is_new_ && errno == EEXIST) {
      file_.reset(::open(path_.c_str(), flags | O_TRUNC, 0666));
    }
  }
  if (!file_.valid() && is_pipe_ && errno == ENXIO) {
    fail_unread();
  }
  if (!file_.valid()) {
    throw Error::from_errno("write " + std::string(purpose_.what) + " to " + quote(path_), errno);
  }
}

void ResultFile::write(std::string_view text) {
  try {
    write_all(text);
  } catch (...) {
    remove_if_new();
    throw;
  }
}

void ResultFile::write_all(std::string_view text) {
  constexpr std::int64_t timeout_ns = ns_per_s;
  while (!text.empty()) {
    const ssize_t count = ::write(file_.get(), text.data(), text.size());
    if (count > 0) {
      text.remove_prefix(static_cast<std::size_t>(count));
    } else if (count < 0 && errno == EAGAIN) {
      if (!wait_for(file_.get(), POLLOUT, monotonic_ns() + timeout_ns)) {
        fail_unread();
      }
    } else if (count < 0 && errno == EPIPE && is_pipe_) {
      fail_unread();
    } else if (count < 0 && errno != EINTR) {
      throw Error::from_errno("write " + std::string(purpose_.what) + " to " + quote(path_), errno);
    }
  }
}

/// Not what was there before, and not what somebody has put there meanwhile.
void ResultFile::remove_if_new() noexcept {
  struct stat ours {};
  struct stat there {};
  if (is_new_ && ::fstat(file_.get(), &ours) == 0 && ::lstat(path_.c_str(), &there) == 0 &&
      ours.st_dev == there.st_dev && ours.st_ino == there.st_ino) {
    ::unlink(path_.c_str());
    is_new_ = false;
  }
}

void ResultFile::fail_unread() const {
  throw Error::failed("nobody reads " + std::string(purpose_.what) + " from the named pipe " + quote(path_) +
                      "; start its reader first, or name a file with " + std::string(purpose_.option));
}

}  // namespace framewire
