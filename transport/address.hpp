// Host names and addresses: parsing, resolving, and testing whether an address belongs to this machine.
#pragma once

#include <poll.h>
#include <sys/socket.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "transport/endpoint_options.hpp"

namespace framewire {

/// One IPv4 or IPv6 address with its port, or a Unix one. A value.
struct SocketAddress {
  sockaddr_storage storage{};
  socklen_t size_bytes = 0;

  [[nodiscard]] const sockaddr* get() const noexcept { return reinterpret_cast<const sockaddr*>(&storage); }
  [[nodiscard]] int family() const noexcept { return storage.ss_family; }
};

/// Accepts "host", "host:port", "[v6]", "[v6]:port", "v6" (two or more colons), ":port" and "*:port". ":port" leaves
/// the host empty, which means the default. "*" means all addresses and is for listeners only. Port 0 is valid: a
/// listener then picks a free port. Throws Error (usage) that quotes the text.
HostPort parse_host_port(std::string_view text, std::uint16_t default_port);

/// parse_host_port() for an address to dial: port 0 is an error.
HostPort parse_dialled(std::string_view text, std::uint16_t default_port);

/// The inverse of parse_host_port(): "host:port", with brackets around an IPv6 address.
std::string format_host_port(const HostPort& at);

/// A descriptor whose readiness cancels the wait. It stays ready: an eventfd that is signalled once and never cleared,
/// or the end of a connection. A value; the descriptor belongs to its owner and outlives the wait.
struct StopWait {
  int fd = -1;  // -1: only the deadline ends the wait
  short events = POLLIN;
  const char* why = "this end stops";  // for the error message
};

/// All stream addresses of a host, in the system's order of preference. An empty host means loopback, both families.
/// Blocks until the name servers answer or `stop` is ready. At `stop`, a thread of its own finishes the lookup. Throws
/// Error: failed, which names the host, or lost_peer at `stop`.
std::vector<SocketAddress> resolve(const HostPort& at, const StopWait& stop = {});

/// 127.0.0.0/8, ::1 and IPv4 loopback written as IPv6.
bool is_loopback(const SocketAddress& address) noexcept;

/// Whether an interface of this machine (in this network namespace) has the address now.
bool is_this_host(const SocketAddress& address) noexcept;

/// "192.0.2.1:5290" or "[2001:db8::1]:5290"; "this machine" for a Unix socket.
std::string format_address(const SocketAddress& address);

/// The abstract Unix socket of this user for a port: a zero byte, then "framewire-UID-PORT".
SocketAddress unix_address(std::uint16_t port);

std::uint16_t port_of(const SocketAddress& address) noexcept;
void set_port(SocketAddress& address, std::uint16_t port) noexcept;

/// The peer's address of a connected socket; nullopt when the connection is gone.
std::optional<SocketAddress> peer_of(int fd) noexcept;
/// The local address of a socket; nullopt, with errno set, on failure.
std::optional<SocketAddress> own_address_of(int fd) noexcept;
/// Whether a connected TCP socket leads to this machine, judged by its two addresses only: loopback, or both equal.
/// False for a connection to another address of this machine: is_this_host() finds those, but asks for all interfaces
/// and costs more.
bool is_within_this_machine(int connected_fd) noexcept;
/// The peer's address of a connected TCP socket as text; "a closed connection" when the connection is gone.
std::string peer_address(int fd);

}  // namespace framewire
