#include "transport/control/dial.hpp"

#include <fmt/core.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <vector>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/wait.hpp"
#include "transport/address.hpp"
#include "transport/control/no_peer.hpp"
#include "transport/control/tcp_options.hpp"

namespace framewire {

namespace {

/// Waits for a connection in progress. Returns 0 or an errno.
int await_connection(int fd, std::int64_t deadline_ns, const StopWait& stop) {
  std::array both{pollfd{.fd = fd, .events = POLLOUT, .revents = 0},
                  pollfd{.fd = stop.fd, .events = stop.events, .revents = 0}};
  wait_until(both, deadline_ns);
  if (both[0].revents == 0) {
    return both[1].revents != 0 ? ECANCELED : ETIMEDOUT;
  }
  int error_number = 0;
  socklen_t size_bytes = sizeof error_number;
  return ::getsockopt(fd, SOL_SOCKET, SO_ERROR, &error_number, &size_bytes) == 0 ? error_number : errno;
}

}  // namespace

FileDescriptor connect_to(const SocketAddress& address, std::int64_t deadline_ns, int& error_number,
                          const StopWait& stop, std::optional<std::uint8_t> type_of_service) {
  auto fd =
      FileDescriptor::from([&] { return ::socket(address.family(), SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0); });
  if (!fd.valid()) {
    error_number = errno;
    return fd;
  }
  if (address.family() != AF_UNIX) {
    set_tcp_options(fd.get(), is_this_host(address) ? TcpScope::this_machine : TcpScope::anywhere);
    set_type_of_service(fd.get(), type_of_service);
  }
  error_number = ::connect(fd.get(), address.get(), address.size_bytes) == 0 ? 0 : errno;
  if (error_number == EINPROGRESS || error_number == EINTR) {
    error_number = await_connection(fd.get(), deadline_ns, stop);
  }
  if (error_number != 0) {
    fd.reset();
  }
  return fd;
}

namespace {

Error stopped(const std::string& where, const StopWait& stop) {
  return Error::lost_peer(fmt::format("{} had not answered yet: {}", where, stop.why));
}

/// Connects to this user's Unix socket if somebody listens there. Waits on a full backlog (EAGAIN), because then the
/// listener is alive.
FileDescriptor connect_unix(const SocketAddress& address, std::int64_t deadline_ns, const StopWait& stop) {
  int error_number = 0;
  FileDescriptor fd = connect_to(address, deadline_ns, error_number);
  while (error_number == EAGAIN && monotonic_ns() < deadline_ns) {
    if (wait_for(stop.fd, stop.events, std::min(deadline_ns, monotonic_ns() + 10 * ns_per_ms))) {
      throw stopped(format_address(address), stop);
    }
    fd = connect_to(address, deadline_ns, error_number);
  }
  if (fd.valid() && !check_same_user(fd.get())) {
    throw Error::refused("the Unix socket of this port belongs to a program of another user; take another port");
  }
  return fd;
}

[[noreturn]] void throw_unreachable(const std::string& where, int error_number) {
  switch (error_number) {
    case ECONNREFUSED:
      throw NoPeer(PeerAbsence::nothing_listens,
                   fmt::format("nothing listens at {}; start the other end, or check the port", where));
    case ETIMEDOUT:
      throw Error::lost_peer(
          fmt::format("{} does not answer; check the address, and that no firewall is in the way", where));
    case ENETUNREACH:
    case EHOSTUNREACH:
      throw Error::lost_peer(fmt::format("there is no route to {}; check the address and the network", where));
    default:
      throw Error::lost_peer(fmt::format("cannot connect to {}: {}", where, errno_text(error_number)));
  }
}

std::string describe(const std::string& asked, const SocketAddress& address) {
  const std::string numeric = format_address(address);
  return numeric == asked ? asked : fmt::format("{} ({})", asked, numeric);
}

}  // namespace

DialledSocket dial(const HostPort& to, std::int64_t deadline_ns, DialMode mode, const StopWait& stop,
                   std::optional<std::uint8_t> type_of_service) {
  std::vector<SocketAddress> addresses = resolve(to, stop);
  const std::string asked = format_host_port(to);
  const bool is_here = mode == DialMode::any && std::ranges::any_of(addresses, is_this_host);
  if (is_here) {
    FileDescriptor fd = connect_unix(unix_address(to.port), deadline_ns, stop);
    if (fd.valid()) {
      return {.fd = std::move(fd), .is_unix = true, .address = asked};
    }
  }
  if (mode == DialMode::tcp) {
    std::stable_partition(addresses.begin(), addresses.end(), is_this_host);
  }
  int error_number = 0;
  for (std::size_t i = 0; i < addresses.size(); ++i) {
    // An address that does not answer must not use up the time of the next ones.
    const std::int64_t now_ns = monotonic_ns();
    const auto left = static_cast<std::int64_t>(addresses.size() - i);
    FileDescriptor fd = connect_to(addresses[i], now_ns + std::max<std::int64_t>(0, deadline_ns - now_ns) / left,
                                   error_number, stop, type_of_service);
    if (error_number == ECANCELED) {
      throw stopped(asked, stop);
    }
    if (!fd.valid()) {
      continue;
    }
    // Try the Unix socket again: a framewire listener binds it before TCP, and may have started between the two
    // attempts.
    FileDescriptor unix_fd = is_here ? connect_unix(unix_address(to.port), deadline_ns, stop) : FileDescriptor();
    if (unix_fd.valid()) {
      return {.fd = std::move(unix_fd), .is_unix = true, .address = asked};
    }
    return {.fd = std::move(fd), .is_unix = false, .address = describe(asked, addresses[i])};
  }
  throw_unreachable(asked, error_number);
}

HostPort reached(const DialledSocket& dialled, const HostPort& asked) {
  if (dialled.is_unix) {
    return asked;
  }
  const auto peer = peer_of(dialled.fd.get());
  if (!peer) {
    throw Error::lost_peer(fmt::format("the connection to {} is gone", dialled.address));
  }
  return parse_host_port(format_address(*peer), asked.port);
}

bool check_same_user(int fd) noexcept {
  ucred credentials{};
  socklen_t size_bytes = sizeof credentials;
  return ::getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &credentials, &size_bytes) == 0 &&
         size_bytes == sizeof credentials && credentials.uid == ::geteuid();
}

}  // namespace framewire
