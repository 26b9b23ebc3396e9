#include "transport/control/tcp_options.hpp"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <cerrno>
#include <string>
#include <string_view>

#include "base/error.hpp"

namespace framewire {

namespace {

/// Every Linux has it, and any user may choose it. It sends whatever the windows allow, without pacing.
constexpr std::string_view unpaced = "reno";

}  // namespace

void set_tcp_options(int socket, TcpScope scope) noexcept {
  const int on = 1;
  ::setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  if (scope == TcpScope::this_machine) {
    ::setsockopt(socket, IPPROTO_TCP, TCP_CONGESTION, unpaced.data(), unpaced.size());
  }
}

void set_type_of_service(int socket, std::optional<std::uint8_t> type_of_service) {
  int family = AF_UNSPEC;
  socklen_t size = sizeof family;
  if (!type_of_service || ::getsockopt(socket, SOL_SOCKET, SO_DOMAIN, &family, &size) != 0) {
    return;
  }
  const int value = *type_of_service;
  const bool is_ipv6 = family == AF_INET6;
  // An IPv6 socket may carry IPv4 as well.
  const bool is_set = (family != AF_INET && !is_ipv6) ||
                      (::setsockopt(socket, IPPROTO_IP, IP_TOS, &value, sizeof value) == 0 &&
                       (!is_ipv6 || ::setsockopt(socket, IPPROTO_IPV6, IPV6_TCLASS, &value, sizeof value) == 0));
  if (!is_set) {
    throw Error::from_errno("give a connection the type of service " + std::to_string(value), errno);
  }
}

}  // namespace framewire
