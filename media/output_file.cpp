#include "media/output_file.hpp"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <ctime>
#include <utility>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/pipe.hpp"
#include "base/text.hpp"
#include "base/wait.hpp"

namespace framewire {

namespace {

constexpr std::int64_t poll_interval_ns = 100 * ns_per_ms;

/// Suppresses SIGPIPE for a write on this thread, so that only EPIPE remains. Does not change the process's signal
/// handlers.
class NoPipeSignal {
 public:
  NoPipeSignal() noexcept {
    sigemptyset(&pipe_);
    sigaddset(&pipe_, SIGPIPE);
    sigset_t pending;
    sigpending(&pending);
    was_pending_ = sigismember(&pending, SIGPIPE) == 1;
    pthread_sigmask(SIG_BLOCK, &pipe_, &before_);
  }
  ~NoPipeSignal() {
    constexpr timespec at_once{0, 0};
    while (!was_pending_ && sigtimedwait(&pipe_, nullptr, &at_once) < 0 && errno == EINTR) {
    }
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
  NoPipeSignal(const NoPipeSignal&) = delete;
  NoPipeSignal& operator=(const NoPipeSignal&) = delete;

 private:
  sigset_t pipe_{};
  sigset_t before_{};
  bool was_pending_ = false;
};

}  // namespace

OutputFile::OutputFile(const std::string& path, std::function<bool()> is_stopping, int fd_for_dash)
    : path_(path), is_stopping_(std::move(is_stopping)) {
  const bool is_dash = path == "-";
  if (is_dash) {
    file_ = reopen_for_writing(fd_for_dash);
  } else if (is_named_pipe(path)) {
    file_ = open_named_pipe(path, [this] { return is_stopping_ && is_stopping_(); });
    if (!file_.valid() && errno == ENXIO) {
      throw Error::failed("interrupted while nobody read --output " + quote(path, 200));
    }
  } else {
    return;
  }
  if (!file_.valid()) {
    throw Error::from_errno("write --output " + (is_dash ? "to standard output" : quote(path, 200)), errno);
  }
  look_at_file();
}

bool OutputFile::open_file() noexcept {
  file_.reset(::open(path_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666));
  if (!file_.valid()) {
    error_number_ = errno;
    return false;
  }
  look_at_file();
  return true;
}

void OutputFile::look_at_file() noexcept {
  enlarge_pipe(file_.get());
  struct stat status {};
  is_regular_ = ::fstat(file_.get(), &status) == 0 && S_ISREG(status.st_mode);
  if (is_regular_) {
    const bool appends = (::fcntl(file_.get(), F_GETFL) & O_APPEND) != 0;
    whole_bytes_ = appends ? status.st_size : ::lseek(file_.get(), 0, SEEK_CUR);
  }
}

WriteResult OutputFile::write(std::span<const std::span<const std::byte>> parts) noexcept {
  if (!file_.valid() && !open_file()) {
    return WriteResult::failed;
  }
  const NoPipeSignal guard;
  std::int64_t written_bytes = 0;
  for (const std::span<const std::byte> part : parts) {
    if (const WriteResult result = write_part(part); result != WriteResult::written) {
      take_back();
      return result;
    }
    written_bytes += static_cast<std::int64_t>(part.size());
  }
  whole_bytes_ += written_bytes;
  return WriteResult::written;
}

WriteResult OutputFile::write_part(std::span<const std::byte> part) noexcept {
  while (!part.empty()) {
    const ssize_t count = ::write(file_.get(), part.data(), part.size());
    if (count > 0) {
      part = part.subspan(static_cast<std::size_t>(count));
    } else if (count < 0 && (errno == EAGAIN || errno == EINTR)) {
      if (const WriteResult result = wait_until_writable(); result != WriteResult::written) {
        return result;
      }
    } else {
      error_number_ = count == 0 ? ENOSPC : errno;
      return error_number_ == EPIPE ? WriteResult::reader_gone : WriteResult::failed;
    }
  }
  return WriteResult::written;
}

WriteResult OutputFile::wait_until_writable() noexcept {
  do {
    if (is_stopping_ && is_stopping_()) {
      return WriteResult::stopped;
    }
  } while (!wait_for(file_.get(), POLLOUT, monotonic_ns() + poll_interval_ns));
  return WriteResult::written;
}

/// An incomplete unit would make the rest of the file unreadable.
void OutputFile::take_back() noexcept {
  if (is_regular_ && ::ftruncate(file_.get(), whole_bytes_) == 0) {
    ::lseek(file_.get(), whole_bytes_, SEEK_SET);
  }
}

}  // namespace framewire
