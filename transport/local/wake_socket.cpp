#include "transport/local/wake_socket.hpp"

#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <cstddef>

#include "base/error.hpp"

namespace framewire {

namespace {

bool has_option(int fd, int option, int wanted) noexcept {
  int value = -1;
  socklen_t size = sizeof value;
  return ::getsockopt(fd, SOL_SOCKET, option, &value, &size) == 0 && value == wanted;
}

}  // namespace

std::pair<FileDescriptor, FileDescriptor> make_wake_sockets() {
  std::array<int, 2> ends{-1, -1};
  const UnforkedSection section;
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends.data()) != 0) {
    throw Error::from_errno("create a pair of sockets", errno);
  }
  return {FileDescriptor(ends[0]), FileDescriptor(ends[1])};
}

void require_wake_socket(int fd) {
  if (!has_option(fd, SO_DOMAIN, AF_UNIX) || !has_option(fd, SO_TYPE, SOCK_STREAM)) {
    throw Error::failed("the sender handed over something else than the socket by which the two ends wake each other");
  }
}

void send_wake(int wake_socket) noexcept {
  const std::byte wake{1};
  [[maybe_unused]] const auto sent = ::send(wake_socket, &wake, sizeof wake, MSG_DONTWAIT | MSG_NOSIGNAL);
}

PeerState take_wakes(int wake_socket) noexcept {
  std::array<std::byte, 1024> wakes;
  const ssize_t got = ::recv(wake_socket, wakes.data(), wakes.size(), MSG_DONTWAIT);
  // A peer that has closed with wakes unread is an error first, and the end after that.
  const bool is_open = got > 0 || (got < 0 && (errno == EAGAIN || errno == EINTR));
  return is_open ? PeerState::open : PeerState::closed;
}

}  // namespace framewire
