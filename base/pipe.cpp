#include "base/pipe.hpp"

#include <fcntl.h>
#include <pthread.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <string>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/wait.hpp"

namespace framewire {

namespace {

/// But not the master of a pseudoterminal: opening that makes a new one.
bool is_terminal(int fd) noexcept {
  unsigned number = 0;
  return ::isatty(fd) == 1 && ::ioctl(fd, TIOCGPTN, &number) != 0;
}

}  // namespace

PipeEnds make_pipe() {
  std::array<int, 2> ends{};
  const UnforkedSection section;
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) {
    throw Error::from_errno("make a pipe", errno);
  }
  return {FileDescriptor(ends[0]), FileDescriptor(ends[1])};
}

void enlarge_pipe(int fd) noexcept {
  const int now_bytes = ::fcntl(fd, F_GETPIPE_SZ);  // negative if it is not a pipe
  // The kernel refuses a size above its limit, or above the user's total: then try half of it.
  for (int bytes = 1 << 20; now_bytes > 0 && bytes > now_bytes && ::fcntl(fd, F_SETPIPE_SZ, bytes) < 0; bytes /= 2) {
  }
}

void block_sigpipe() noexcept {
  sigset_t pipe;
  sigemptyset(&pipe);
  sigaddset(&pipe, SIGPIPE);
  pthread_sigmask(SIG_BLOCK, &pipe, nullptr);
}

FileDescriptor reopen_for_writing(int fd) {
  struct stat status {};
  if ((::fstat(fd, &status) == 0 && S_ISFIFO(status.st_mode)) || is_terminal(fd)) {
    const std::string path = "/proc/self/fd/" + std::to_string(fd);
    auto own = FileDescriptor::from([&] { return ::open(path.c_str(), O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC); });
    if (own.valid()) {
      return own;
    }
  }
  return FileDescriptor::from([&] { return ::fcntl(fd, F_DUPFD_CLOEXEC, 3); });
}

bool is_named_pipe(const std::string& path) noexcept {
  struct stat status {};
  return ::stat(path.c_str(), &status) == 0 && S_ISFIFO(status.st_mode);
}

FileDescriptor open_named_pipe(const std::string& path, const std::function<bool()>& is_stopping) {
  constexpr std::int64_t poll_interval_ns = 10 * ns_per_ms;  // no event tells that a reader has opened it
  for (;;) {
    auto pipe = FileDescriptor::from([&] { return ::open(path.c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC); });
    if (pipe.valid() || errno != ENXIO) {
      return pipe;
    }
    if (is_stopping()) {
      errno = ENXIO;
      return {};
    }
    wait_until({}, monotonic_ns() + poll_interval_ns);
  }
}

}  // namespace framewire
