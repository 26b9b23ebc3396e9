// Host names and addresses: what people write, what the system resolves, and which of them mean this very machine.
#pragma once

#include <sys/socket.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "transport/endpoint_options.hpp"
#include "transport/stop_wait.hpp"

namespace framewire {

/// One IPv4 or IPv6 address with its port, or a Unix one. A value.
struct SocketAddress {
  sockaddr_storage storage{};
  socklen_t size_bytes = 0;

  [[nodiscard]] const sockaddr* get() const noexcept { return reinterpret_cast<const sockaddr*>(&storage); }
  [[nodiscard]] int family() const noexcept { return storage.ss_family; }
};

/// "host", "host:port", "[v6]", "[v6]:port", "v6" (two colons or more), ":port" (host empty: the default) and "*:port"
/// (host "*": all addresses; only a listener takes it). Throws Error (usage) that quotes the text. Port 0 is taken: a
/// listener then picks a free one.
HostPort parse_host_port(std::string_view text, std::uint16_t default_port);

/// The same of an end that is to be dialled: port 0 is none there.
HostPort parse_dialled(std::string_view text, std::uint16_t default_port);

/// The way back: "host:port", with brackets around an IPv6 address.
std::string format_host_port(const HostPort& at);

/// Every stream address that the system knows for a host, in the system's order of preference. An empty host is
/// loopback, both families. Blocks as long as the name servers take, or until `stop`: then the look-up is left to a
/// thread of its own, that ends when they have answered. Throws Error: failed, naming the host; lost_peer at `stop`.
std::vector<SocketAddress> resolve(const HostPort& at, const StopWait& stop = {});

/// 127.0.0.0/8, ::1 and IPv4 loopback written as IPv6.
bool is_loopback(const SocketAddress& address) noexcept;

/// Whether an interface of this machine (of its network namespace) has the address, now.
bool is_this_host(const SocketAddress& address) noexcept;

/// "192.0.2.1:5290" or "[2001:db8::1]:5290"; "this machine" for a Unix socket.
std::string format_address(const SocketAddress& address);

/// The abstract Unix socket of our own user for a port: a zero byte, then "framewire-UID-PORT".
SocketAddress unix_address(std::uint16_t port);

std::uint16_t port_of(const SocketAddress& address) noexcept;
void set_port(SocketAddress& address, std::uint16_t port) noexcept;

/// The far end of a connected socket; nothing when there is none any more.
std::optional<SocketAddress> peer_of(int fd) noexcept;
/// The near end of a socket that has an address; nothing, with errno, when it cannot be had.
std::optional<SocketAddress> own_address_of(int fd) noexcept;
/// Whether both ends of a connected TCP socket are on this machine, by their two addresses: loopback, or the same one.
/// False of one that leads to another of this machine's addresses; asking for those all costs more (is_this_host()).
bool is_within_this_machine(int connected_fd) noexcept;
/// The far end of a connected TCP socket as text; "a closed connection" when there is none any more.
std::string peer_address(int fd);

}  // namespace framewire
