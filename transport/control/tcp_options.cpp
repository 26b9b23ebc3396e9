#include "transport/control/tcp_options.hpp"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <string_view>

namespace framewire {

namespace {

/// The one that every Linux has and any user may choose; it sends whatever the windows allow.
constexpr std::string_view unpaced = "reno";

}  // namespace

void set_tcp_options(int socket, TcpScope scope) noexcept {
  const int on = 1;
  ::setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  if (scope == TcpScope::this_machine) {
    ::setsockopt(socket, IPPROTO_TCP, TCP_CONGESTION, unpaced.data(), unpaced.size());
  }
}

}  // namespace framewire
