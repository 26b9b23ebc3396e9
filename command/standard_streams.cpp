#include "command/standard_streams.hpp"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

namespace framewire {

void reserve_standard_fds() noexcept {
  for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; ++fd) {
    if (::fcntl(fd, F_GETFD) < 0) {
      // open() returns the lowest free number, which is fd. Only text for standard error may be lost silently.
      ::open("/dev/null", fd == STDIN_FILENO || fd == STDERR_FILENO ? O_WRONLY : O_RDONLY);
    }
  }
}

bool is_open_for_writing(int fd) noexcept {
  const int flags = ::fcntl(fd, F_GETFL);
  return flags >= 0 && (flags & O_ACCMODE) != O_RDONLY;
}

bool has_no_reader(int fd) noexcept {
  pollfd end{.fd = fd, .events = 0, .revents = 0};
  return ::poll(&end, 1, 0) == 1 && (end.revents & POLLERR) != 0;
}

}  // namespace framewire
