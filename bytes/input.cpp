#include "bytes/input.hpp"

#include <fcntl.h>
#include <linux/magic.h>
#include <poll.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/pipe.hpp"
#include "base/text.hpp"
#include "base/wait.hpp"

namespace framewire {

namespace {

constexpr std::int64_t poll_interval_ns = 100 * ns_per_ms;

/// Opens a named pipe without waiting for its writer, which may never come. read() waits, and can be stopped.
FileDescriptor open_to_read(const std::string& path) noexcept {
  struct stat status {};
  const bool is_pipe = ::stat(path.c_str(), &status) == 0 && S_ISFIFO(status.st_mode);
  return FileDescriptor(::open(path.c_str(), O_RDONLY | O_CLOEXEC | (is_pipe ? O_NONBLOCK : 0)));
}

/// Whether the kernel generates the file's contents when it is read.
bool is_made_up(int file) noexcept {
  constexpr std::array kinds = {SYSFS_MAGIC, PROC_SUPER_MAGIC, CGROUP2_SUPER_MAGIC, DEBUGFS_MAGIC, TRACEFS_MAGIC};
  struct statfs system {};
  return ::fstatfs(file, &system) == 0 && std::ranges::find(kinds, system.f_type) != kinds.end();
}

}  // namespace

Input::Input(const std::string& path, std::function<bool()> is_stopping)
    : name_(path == "-" ? "standard input" : quote(path, 200)), is_stopping_(std::move(is_stopping)) {
  file_ = path == "-" ? FileDescriptor(::fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3)) : open_to_read(path);
  struct stat status {};
  if (!file_.valid() || ::fstat(file_.get(), &status) != 0) {
    throw Error::from_errno("read " + name_, errno);
  }
  if (S_ISDIR(status.st_mode)) {
    throw Error::failed(name_ + " is a directory; send its contents with tar: tar c DIRECTORY | rdsend HOST");
  }
  if (S_ISREG(status.st_mode)) {
    begin_bytes_ = static_cast<std::uint64_t>(std::max<off_t>(::lseek(file_.get(), 0, SEEK_CUR), 0));
    const auto end_bytes = static_cast<std::uint64_t>(status.st_size);
    size_bytes_ = end_bytes - std::min(begin_bytes_, end_bytes);
    written_at_ = status.st_mtim;
    is_made_up_ = is_made_up(file_.get());
    if (path != "-" && is_made_up_) {  // not for standard input: other processes share that setting
      set_non_blocking(file_.get(), true);
    }
    ::posix_fadvise(file_.get(), 0, 0, POSIX_FADV_SEQUENTIAL);
  } else {
    is_terminal_ = ::isatty(file_.get()) == 1;
    enlarge_pipe(file_.get());
  }
}

Input::Read Input::read(std::span<std::byte> buffer) {
  const std::int64_t begun_ns = monotonic_ns();
  const Read got = read_what_is_there(buffer);
  spent_ns_ += monotonic_ns() - begun_ns;
  return got;
}

Input::Read Input::read_what_is_there(std::span<std::byte> buffer) {
  std::size_t filled = 0;
  while (filled < buffer.size()) {
    // Return what was read instead of waiting for more. A regular file is always ready, or returns EAGAIN (/proc/kmsg).
    bool has_nothing = !size_bytes_ && !has_more_now();
    if (!has_nothing) {
      const ssize_t got = ::read(file_.get(), buffer.data() + filled, buffer.size() - filled);
      if (got > 0) {
        filled += static_cast<std::size_t>(got);
        read_bytes_ += static_cast<std::uint64_t>(got);
      } else if (got == 0) {
        return {.bytes = filled, .state = end_of_file()};
      } else if (errno != EINTR && errno != EAGAIN) {
        return {.bytes = filled, .state = fail(errno)};
      } else {
        has_nothing = errno == EAGAIN;
      }
    }
    if (has_nothing) {
      if (filled > 0) {
        break;
      }
      if (is_stopping_()) {
        return {.bytes = 0, .state = ReadState::stopped};
      }
      wait_for(file_.get(), POLLIN, monotonic_ns() + poll_interval_ns);
    }
  }
  return {.bytes = filled, .state = ReadState::more};
}

FileRange Input::skip(std::uint64_t& bytes) {
  bytes = size_bytes_ ? std::min(bytes, *size_bytes_ - std::min(read_bytes_, *size_bytes_)) : 0;
  if (bytes == 0) {
    return {};
  }
  const FileRange range{.fd = file_.get(), .offset_bytes = begin_bytes_ + read_bytes_};
  read_bytes_ += bytes;
  if (::lseek(file_.get(), static_cast<off_t>(begin_bytes_ + read_bytes_), SEEK_SET) < 0) {
    throw Error::from_errno("read " + name_, errno);
  }
  return range;
}

bool Input::read_skipped(std::uint64_t offset_bytes, std::span<std::byte> buffer) {
  const std::int64_t begun_ns = monotonic_ns();
  const bool is_read = read_at(offset_bytes, buffer);
  spent_ns_ += monotonic_ns() - begun_ns;
  return is_read;
}

bool Input::read_at(std::uint64_t offset_bytes, std::span<std::byte> buffer) {
  while (!buffer.empty()) {
    const ssize_t got = ::pread(file_.get(), buffer.data(), buffer.size(), static_cast<off_t>(offset_bytes));
    if (got == 0) {
      if (!has_shrunk()) {
        read_bytes_ = offset_bytes - begin_bytes_;
        error_ = name_ + " holds fewer bytes than it says: " + std::to_string(read_bytes_) + " of " +
                 std::to_string(*size_bytes_);
      }
      return false;
    }
    if (got < 0 && errno != EINTR) {
      return fail(errno) != ReadState::failed;
    }
    const auto bytes = static_cast<std::size_t>(std::max<ssize_t>(got, 0));
    offset_bytes += bytes;
    buffer = buffer.subspan(bytes);
  }
  return true;
}

bool Input::is_unchanged() const noexcept {
  struct stat status {};
  return size_bytes_ && !is_made_up_ && ::fstat(file_.get(), &status) == 0 &&
         status.st_mtim.tv_sec == written_at_.tv_sec && status.st_mtim.tv_nsec == written_at_.tv_nsec;
}

bool Input::has_failed_behind(std::uint64_t max_bytes) {
  if (!size_bytes_) {
    return false;
  }
  if (has_shrunk()) {
    return true;
  }
  std::array<std::byte, 65536> bytes;
  const std::uint64_t end = begin_bytes_ + read_bytes_;
  for (std::uint64_t at = end - std::min(read_bytes_, max_bytes); at < end; at += bytes.size()) {
    if (!read_at(at, std::span(bytes).first(std::min<std::uint64_t>(bytes.size(), end - at)))) {
      return true;
    }
  }
  return false;
}

bool Input::has_shrunk() {
  struct stat status {};
  if (::fstat(file_.get(), &status) != 0) {
    return false;
  }
  const auto end_bytes = static_cast<std::uint64_t>(status.st_size);
  if (end_bytes >= begin_bytes_ + read_bytes_) {
    return false;
  }
  read_bytes_ = end_bytes - std::min(end_bytes, begin_bytes_);
  return end_of_file() == ReadState::failed;
}

bool Input::has_more_now() const noexcept {
  return wait_for(file_.get(), POLLIN, 0);
}

ReadState Input::end_of_file() {
  if (size_bytes_ && read_bytes_ < *size_bytes_ && !is_made_up_) {
    error_ = name_ + " became shorter while it was read: " + std::to_string(read_bytes_) + " bytes came of " +
             std::to_string(*size_bytes_);
    return ReadState::failed;
  }
  // A terminal that hangs up reads like an end typed by the user; only POLLHUP tells them apart.
  if (pollfd line{.fd = file_.get(), .events = POLLIN, .revents = 0};
      is_terminal_ && wait_until({&line, 1}, 0) > 0 && (line.revents & POLLHUP) != 0) {
    error_ = "the terminal of " + name_ + " hung up";
    return ReadState::failed;
  }
  return ReadState::ended;
}

ReadState Input::fail(int error_number) {
  error_ = "cannot read " + name_ + ": " + errno_text(error_number);
  return ReadState::failed;
}

}  // namespace framewire
