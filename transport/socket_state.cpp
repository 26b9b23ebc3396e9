#include "transport/socket_state.hpp"

#include <netinet/in.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>

#include "base/clock.hpp"
#include "base/error.hpp"

namespace framewire {

LinkState socket_state(int socket) noexcept {
  char byte = 0;
  const auto looked = ::recv(socket, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
  if (looked > 0 || (looked < 0 && (errno == EAGAIN || errno == EINTR))) {
    return LinkState::open;
  }
  return looked == 0 ? LinkState::closed : LinkState::lost;
}

bool has_bytes(int socket) noexcept {
  char byte = 0;
  return ::recv(socket, &byte, 1, MSG_PEEK | MSG_DONTWAIT) > 0;
}

FileDescriptor make_poller(std::initializer_list<int> descriptors) {
  auto poller = FileDescriptor::from([] { return ::epoll_create1(EPOLL_CLOEXEC); });
  if (!poller.valid()) {
    throw Error::from_errno("create an epoll descriptor", errno);
  }
  for (const int fd : descriptors) {
    watch_also(poller.get(), fd);
  }
  return poller;
}

void watch_also(int poller, int descriptor) {
  epoll_event event{};
  event.events = EPOLLIN | EPOLLRDHUP;
  if (::epoll_ctl(poller, EPOLL_CTL_ADD, descriptor, &event) != 0) {
    throw Error::from_errno("watch a descriptor", errno);
  }
}

void watch_writable(int poller, int socket, bool watches) noexcept {
  epoll_event event{};
  event.events = EPOLLIN | EPOLLRDHUP | (watches ? EPOLLOUT : 0U);
  ::epoll_ctl(poller, EPOLL_CTL_MOD, socket, &event);
}

void watch_peer(int tcp_socket, std::int64_t timeout_ns) noexcept {
  const int on = 1;
  // The kernel allows at most 127 probes, so a long timeout needs a longer interval.
  constexpr std::int64_t max_probes = 100;
  constexpr std::int64_t longest_interval_s = 32767;
  const std::int64_t timeout_s = timeout_ns / ns_per_s;
  const int idle_s = 1;
  const int interval_s =
      static_cast<int>(std::clamp<std::int64_t>((timeout_s + max_probes - 1) / max_probes, 1, longest_interval_s));
  const int probes = static_cast<int>(std::clamp<std::int64_t>(timeout_s / interval_s - 1, 1, max_probes));
  ::setsockopt(tcp_socket, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
  ::setsockopt(tcp_socket, IPPROTO_TCP, TCP_KEEPIDLE, &idle_s, sizeof idle_s);
  ::setsockopt(tcp_socket, IPPROTO_TCP, TCP_KEEPINTVL, &interval_s, sizeof interval_s);
  ::setsockopt(tcp_socket, IPPROTO_TCP, TCP_KEEPCNT, &probes, sizeof probes);
}

bool tcp_peer_is_silent(int tcp_socket, std::int64_t timeout_ns) noexcept {
  tcp_info info{};
  socklen_t size = sizeof info;
  if (::getsockopt(tcp_socket, IPPROTO_TCP, TCP_INFO, &info, &size) != 0) {
    return false;  // not a TCP socket: a Unix socket's peer cannot fall silent
  }
  return tcp_is_silent(info, timeout_ns);
}

bool tcp_is_silent(const tcp_info& info, std::int64_t timeout_ns) noexcept {
  const bool unanswered = (info.tcpi_unacked > 0 && info.tcpi_retransmits > 0) || info.tcpi_probes > 1;
  return unanswered && std::int64_t{info.tcpi_last_ack_recv} * ns_per_ms > timeout_ns;
}

}  // namespace framewire
