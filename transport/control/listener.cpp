#include "transport/control/listener.hpp"

#include <fmt/core.h>
#include <netinet/in.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>

#include "base/error.hpp"
#include "base/text.hpp"
#include "base/wait.hpp"
#include "transport/control/dial.hpp"
#include "transport/control/tcp_options.hpp"

namespace framewire {

namespace {

constexpr int backlog = 64;
constexpr int port_attempts = 16;

void set_option(int fd, int level, int name, int value) noexcept {
  ::setsockopt(fd, level, name, &value, sizeof value);
}

class PortInUse : public Error {
 public:
  /// `what`: the socket address, or the program, that is in use.
  PortInUse(const HostPort& at, std::string_view what)
      : Error(ExitStatus::failed,
              fmt::format("port {} is in use ({}): another framewire may be running; stop it, or take another port "
                          "with --listen '{}:PORT'",
                          at.port, what, at.host)) {}
};

SocketAddress any_address(int family, std::uint16_t port) noexcept {
  SocketAddress address;
  if (family == AF_INET6) {
    sockaddr_in6 v6{};
    v6.sin6_family = AF_INET6;
    std::memcpy(&address.storage, &v6, sizeof v6);
    address.size_bytes = sizeof v6;
  } else {
    sockaddr_in v4{};
    v4.sin_family = AF_INET;
    std::memcpy(&address.storage, &v4, sizeof v4);
    address.size_bytes = sizeof v4;
  }
  set_port(address, port);
  return address;
}

/// The addresses to bind.
struct Plan {
  std::vector<SocketAddress> addresses;
  bool first_that_works = false;  // "::" serves both families; "0.0.0.0" is for machines without IPv6
  bool beyond_loopback = false;
};

/// A program that is stopped in the look-up has lost no peer.
std::vector<SocketAddress> resolve_own(const HostPort& at, const StopWait& stop) {
  try {
    return resolve(at, stop);
  } catch (const Error& error) {
    throw Error::failed(error.what());
  }
}

Plan plan_for(const ListenOptions& options) {
  const HostPort& at = options.at;
  Plan plan;
  if (at.host == "*" || (at.host.empty() && options.has_key)) {
    plan.addresses = {any_address(AF_INET6, at.port), any_address(AF_INET, at.port)};
    plan.first_that_works = true;
    plan.beyond_loopback = true;
    return plan;
  }
  plan.addresses = at.host.empty() ? resolve({.host = "127.0.0.1", .port = at.port}) : resolve_own(at, options.stop);
  if (at.host.empty()) {
    plan.addresses.push_back(resolve({.host = "::1", .port = at.port}).front());
  }
  plan.beyond_loopback = !std::ranges::all_of(plan.addresses, is_loopback);
  return plan;
}

FileDescriptor open_tcp(const SocketAddress& address, std::optional<std::uint8_t> type_of_service) {
  auto fd = FileDescriptor::from(
      [&] { return ::socket(address.family(), SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, IPPROTO_TCP); });
  if (!fd.valid()) {
    return fd;
  }
  // A sender that restarts must get the same port at once.
  set_option(fd.get(), SOL_SOCKET, SO_REUSEADDR, 1);
  if (address.family() == AF_INET6) {
    const SocketAddress any = any_address(AF_INET6, port_of(address));
    const bool is_any = std::memcmp(&any.storage, &address.storage, sizeof(sockaddr_in6)) == 0;
    set_option(fd.get(), IPPROTO_IPV6, IPV6_V6ONLY, is_any ? 0 : 1);
  }
  set_tcp_options(fd.get(), is_loopback(address) ? TcpScope::this_machine : TcpScope::anywhere);
  set_type_of_service(fd.get(), type_of_service);
  if (::bind(fd.get(), address.get(), address.size_bytes) != 0 || ::listen(fd.get(), backlog) != 0) {
    const int error_number = errno;
    fd.reset();
    errno = error_number;
  }
  return fd;
}

FileDescriptor open_unix(std::uint16_t port) {
  auto fd = FileDescriptor::from([] { return ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0); });
  const SocketAddress address = unix_address(port);
  if (fd.valid() && (::bind(fd.get(), address.get(), address.size_bytes) != 0 || ::listen(fd.get(), backlog) != 0)) {
    const int error_number = errno;
    fd.reset();
    errno = error_number;
  }
  return fd;
}

bool is_missing_family(int error_number) noexcept {
  return error_number == EADDRNOTAVAIL || error_number == EAFNOSUPPORT || error_number == EPROTONOSUPPORT;
}

Error cannot_listen(const HostPort& at, const SocketAddress& address, int error_number) {
  if (error_number == EADDRNOTAVAIL) {
    return Error::failed(
        fmt::format("{} is no address of this machine; listen on one of its own, or on all with --listen '*:{}'",
                    quote(at.host), at.port));
  }
  if (error_number == EACCES) {
    return Error::failed(fmt::format(
        "port {} is not allowed for this user; take one from 1024 up with --listen {}:PORT", at.port, at.host));
  }
  return Error::from_errno("listen on " + format_address(address), error_number);
}

/// Binds the TCP sockets of a plan to one port.
std::vector<std::pair<FileDescriptor, SocketAddress>> open_all(const HostPort& at,
                                                               std::span<const SocketAddress> wanted,
                                                               bool first_that_works,
                                                               std::optional<std::uint8_t> type_of_service) {
  std::vector<std::pair<FileDescriptor, SocketAddress>> open;
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    SocketAddress address = wanted[i];
    set_port(address, at.port);
    FileDescriptor fd = open_tcp(address, type_of_service);
    if (fd.valid()) {
      open.emplace_back(std::move(fd), address);
      if (first_that_works) {
        break;
      }
      continue;
    }
    const int error_number = errno;
    const bool is_only_one = open.empty() && i + 1 == wanted.size();
    if (error_number == EADDRINUSE) {
      throw PortInUse(at, "TCP " + format_address(address));
    }
    if (is_only_one || !is_missing_family(error_number)) {
      throw cannot_listen(at, address, error_number);
    }
  }
  return open;
}

/// A port that is free at this moment.
std::uint16_t free_port(const HostPort& at, const SocketAddress& like) {
  SocketAddress address = like;
  set_port(address, 0);
  const auto fd =
      FileDescriptor::from([&] { return ::socket(address.family(), SOCK_STREAM | SOCK_CLOEXEC, IPPROTO_TCP); });
  if (!fd.valid() || ::bind(fd.get(), address.get(), address.size_bytes) != 0) {
    throw cannot_listen(at, address, errno);
  }
  const auto bound = own_address_of(fd.get());
  if (!bound) {
    throw Error::from_errno("find a free port", errno);
  }
  return port_of(*bound);
}

}  // namespace

Listener::~Listener() {
  while (!sockets_.empty()) {
    sockets_.pop_back();
  }
}

Listener::Listener(const ListenOptions& options) : type_of_service_(options.type_of_service) {
  const Plan plan = plan_for(options);
  beyond_loopback_ = plan.beyond_loopback;
  if (beyond_loopback_ && !options.has_key && !options.insecure) {
    throw Error::refused(fmt::format(
        "listening on {} lets other machines in, which needs a key; run 'framewire key' and import it on the other "
        "machine, or say --insecure",
        quote(format_host_port(options.at))));
  }
  if (options.at.port != 0) {
    bind_one_of(options.at, options.last_port, plan.addresses, plan.first_that_works);
    return;
  }
  for (int attempt = 1;; ++attempt) {
    try {
      bind({.host = options.at.host, .port = free_port(options.at, plan.addresses.front())}, plan.addresses,
           plan.first_that_works);
      return;
    } catch (const Error&) {
      if (attempt == port_attempts) {
        throw;
      }
    }
  }
}

void Listener::bind_one_of(const HostPort& first, std::uint16_t last_port, std::span<const SocketAddress> addresses,
                           bool first_that_works) {
  for (HostPort at = first;; ++at.port) {
    try {
      bind(at, addresses, first_that_works);
      return;
    } catch (const PortInUse&) {
      if (last_port == 0) {
        throw;
      }
      if (at.port >= last_port) {
        throw Error::failed(first.port == last_port
                                ? fmt::format("port {} is in use; name more ports, or another", first.port)
                                : fmt::format("none of the ports {} to {} is free; name more of them, or others",
                                              first.port, last_port));
      }
    }
  }
}

void Listener::bind(const HostPort& at, std::span<const SocketAddress> addresses, bool first_that_works) {
  FileDescriptor unix_socket = open_unix(at.port);
  if (!unix_socket.valid()) {
    if (errno == EADDRINUSE) {
      throw PortInUse(at, "by a program of this user on this machine");
    }
    throw Error::from_errno("listen on the Unix socket of port " + std::to_string(at.port), errno);
  }
  auto tcp = open_all(at, addresses, first_that_works, type_of_service_);
  sockets_.push_back({.fd = std::move(unix_socket), .is_unix = true});
  for (auto& [fd, address] : tcp) {
    sockets_.push_back({.fd = std::move(fd)});
    addresses_.push_back(address);
  }
  port_ = at.port;
}

std::vector<pollfd> Listener::descriptors() const {
  std::vector<pollfd> descriptors;
  for (const Socket& socket : sockets_) {
    descriptors.push_back({.fd = socket.fd.get(), .events = POLLIN, .revents = 0});
  }
  return descriptors;
}

std::optional<AcceptedSocket> Listener::accept() noexcept {
  accept_errno_ = 0;
  for (std::size_t i = 0; i < sockets_.size(); ++i) {
    const Socket& socket = sockets_[next_];
    next_ = (next_ + 1) % sockets_.size();
    if (auto accepted = accept_from(socket)) {
      return accepted;
    }
  }
  return std::nullopt;
}

std::optional<AcceptedSocket> Listener::accept_from(const Socket& socket) noexcept {
  SocketAddress peer;
  peer.size_bytes = sizeof peer.storage;
  auto fd = FileDescriptor::from([&] {
    return ::accept4(socket.fd.get(), reinterpret_cast<sockaddr*>(&peer.storage), &peer.size_bytes,
                     SOCK_CLOEXEC | SOCK_NONBLOCK);
  });
  if (!fd.valid()) {
    accept_errno_ = is_passing(errno) || errno == ECONNABORTED ? accept_errno_ : errno;
    return std::nullopt;
  }
  // Other users may not use the Unix socket, whatever their first bytes are.
  if (socket.is_unix && !check_same_user(fd.get())) {
    return std::nullopt;
  }
  if (!socket.is_unix && is_beyond_loopback() && is_within_this_machine(fd.get())) {
    set_tcp_options(fd.get(), TcpScope::this_machine);
  }
  return AcceptedSocket{.fd = std::move(fd),
                        .is_unix = socket.is_unix,
                        .address = socket.is_unix ? "this machine" : format_address(peer)};
}

std::string Listener::describe() const {
  std::string text;
  for (const SocketAddress& address : addresses_) {
    text += (text.empty() ? "" : ", ") + format_address(address);
  }
  return text;
}

}  // namespace framewire
