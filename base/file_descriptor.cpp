#include "base/file_descriptor.hpp"

#include <fcntl.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>

#include "base/error.hpp"

namespace framewire {

void FileDescriptor::reset(int fd) noexcept {
  if (fd_ >= 0) {
    ::close(fd_);
  }
  fd_ = fd;
}

FileDescriptor make_eventfd() {
  FileDescriptor event(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC));
  if (!event.valid()) {
    throw Error::from_errno("create an eventfd", errno);
  }
  return event;
}

void signal_eventfd(int event_fd) noexcept {
  const std::uint64_t one = 1;
  // This only fails if the counter is full, and then the waiting thread is woken anyway.
  [[maybe_unused]] const auto written = ::write(event_fd, &one, sizeof one);
}

bool clear_eventfd(int event_fd) noexcept {
  std::uint64_t count = 0;
  return ::read(event_fd, &count, sizeof count) == sizeof count;
}

void set_non_blocking(int fd, bool on) {
  const int flags = ::fcntl(fd, F_GETFL);
  if (flags < 0 || ::fcntl(fd, F_SETFL, on ? flags | O_NONBLOCK : flags & ~O_NONBLOCK) < 0) {
    throw Error::from_errno("set the blocking mode of a descriptor", errno);
  }
}

}  // namespace framewire
