#include "bytes/output.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <system_error>
#include <utility>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/pipe.hpp"
#include "base/text.hpp"
#include "base/wait.hpp"
#include "bytes/file_identity.hpp"

namespace framewire {

namespace {

constexpr std::int64_t poll_interval_ns = 100 * ns_per_ms;

bool is_kind(int fd, mode_t kind) noexcept {
  struct stat status {};
  return ::fstat(fd, &status) == 0 && (status.st_mode & S_IFMT) == kind;
}

}  // namespace

Output::Output(const std::string& path, std::function<bool()> is_stopping, bool appends, const std::string& source_file)
    : name_(path == "-" ? "standard output" : quote(path, 200)), is_stopping_(std::move(is_stopping)) {
  if (path == "-") {
    file_ = reopen_for_writing(STDOUT_FILENO);
  } else if (is_named_pipe(path)) {
    file_ = open_named_pipe(path, is_stopping_);
    if (!file_.valid() && errno == ENXIO) {
      throw Error::failed("interrupted while nobody read " + name_);
    }
  } else {
    file_.reset(::open(path.c_str(), O_WRONLY | O_CREAT | (appends ? O_APPEND : 0) | O_CLOEXEC, 0666));
  }
  if (!file_.valid()) {
    throw Error::from_errno("write " + name_, errno);
  }
  require_other_file(source_file);
  if (is_kind(file_.get(), S_IFREG)) {
    // Truncates after open(), not with O_TRUNC: the name may lead to another file by now, and only the open file can be
    // checked.
    if (path != "-" && !appends && ::ftruncate(file_.get(), 0) != 0) {
      throw Error::from_errno("empty " + name_, errno);
    }
    std::error_code none;
    folder_ = std::filesystem::canonical(path, none).parent_path();  // of a link's target
  }
  is_socket_ = is_kind(file_.get(), S_IFSOCK);
  enlarge_pipe(file_.get());
}

/// Throws if this is the sender's own file: the sender would read what is written here, or an empty file.
void Output::require_other_file(const std::string& source_file) const {
  if (!source_file.empty() && file_identity(file_.get()) == source_file) {
    throw Error::failed(name_ +
                        " and the file that the sender reads are the same file; nothing is written, name another FILE");
  }
}

bool Output::write(std::span<const std::byte> bytes) noexcept {
  const std::int64_t begun_ns = monotonic_ns();
  const bool is_written = write_all(bytes);
  spent_ns_ += monotonic_ns() - begun_ns;
  return is_written;
}

bool Output::write_all(std::span<const std::byte> bytes) noexcept {
  while (!bytes.empty()) {
    const ssize_t count = write_some(bytes);
    if (count > 0) {
      bytes = bytes.subspan(static_cast<std::size_t>(count));
      written_bytes_ += static_cast<std::uint64_t>(count);
    } else if (count < 0 && (errno == EAGAIN || errno == EINTR)) {
      if (!wait_until_writable()) {
        return false;
      }
    } else {
      return fail("write", count == 0 ? ENOSPC : errno);
    }
  }
  return true;
}

/// Never blocks: a pipe or a terminal is non-blocking (reopen_for_writing()), and for a socket every call says so.
ssize_t Output::write_some(std::span<const std::byte> bytes) const noexcept {
  return is_socket_ ? ::send(file_.get(), bytes.data(), bytes.size(), MSG_DONTWAIT | MSG_NOSIGNAL)
                    : ::write(file_.get(), bytes.data(), bytes.size());
}

bool Output::wait_until_writable() noexcept {
  do {
    if (is_stopping_()) {
      error_ = "interrupted while nobody read " + name_;
      return false;
    }
  } while (!wait_for(file_.get(), POLLOUT, monotonic_ns() + poll_interval_ns));
  return true;
}

bool Output::finish(bool is_durable) noexcept {
  const std::int64_t begun_ns = monotonic_ns();
  const bool is_done = !is_durable || make_durable();
  // NFS and quotas report a full disk only on close().
  const bool is_closed = ::close(file_.release()) == 0 || errno == EINTR;
  spent_ns_ += monotonic_ns() - begun_ns;
  return is_done && (is_closed || fail("write", errno));
}

/// Syncs the file, and its folder, which holds the name of a new file. For standard output the caller's program is
/// responsible for the name.
bool Output::make_durable() noexcept {
  if (::fsync(file_.get()) != 0) {
    // Not a file, so nothing to sync: fsync() returns EINVAL (a pipe) or EROFS.
    return errno == EINVAL || errno == EROFS || fail("make durable", errno);
  }
  is_durable_ = true;
  if (!folder_.empty() && is_kind(file_.get(), S_IFREG)) {
    // A folder without read permission cannot be synced, and some file systems do not support it.
    const FileDescriptor folder(::open(folder_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    is_durable_ = folder.valid() && ::fsync(folder.get()) == 0;
    return is_durable_ || !folder.valid() || errno == EINVAL || fail("make durable", errno);
  }
  return true;
}

bool Output::fail(const std::string& doing, int error_number) noexcept {
  error_ = error_number == EPIPE ? "the reader of " + name_ + " has gone"
                                 : "cannot " + doing + " " + name_ + ": " + errno_text(error_number);
  return false;
}

}  // namespace framewire
