// What the TCP connections of sessions are given.
#pragma once

#include <cstdint>
#include <optional>

namespace framewire {

enum class TcpScope {
  anywhere,
  this_machine,  // both ends of the connection, or of all that the listening socket will accept, are here
};

/// Small segments leave at once. Within this machine nothing paces what is sent, as far as the kernel lets this user
/// choose: there is no network to spare there, and where BBR is the system's congestion control its timer for every
/// 64 KiB costs more than the bytes do (docs/decisions/0018). Between machines the congestion control stays the
/// administrator's choice.
/// For a socket before connect() or listen(); what is accepted has what its listener has. Of a connection that stands
/// the kernel takes BBR away, but not the timers. Any thread.
void set_tcp_options(int socket, TcpScope scope) noexcept;

/// What every packet of an IP socket says of how networks should treat it (the eight bits of RFC 2474's field, of which
/// TCP keeps the lowest two for itself); nothing happens to another socket, or where the system's own will do. For a
/// socket before connect() or listen(); what is accepted has what its listener has. Any thread. Throws Error (failed).
void set_type_of_service(int socket, std::optional<std::uint8_t> type_of_service);

}  // namespace framewire
