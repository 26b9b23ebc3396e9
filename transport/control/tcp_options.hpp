// Socket options of a session's TCP connections.
#pragma once

#include <cstdint>
#include <optional>

namespace framewire {

enum class TcpScope {
  anywhere,
  this_machine,  // both sides of the connection, or of all that the listening socket will accept, are here
};

/// Sets TCP_NODELAY. On this machine it also avoids pacing, as far as the kernel lets this user choose the congestion
/// control. There is no network to protect, and BBR's timer for every 64 KiB costs more than the bytes do
/// (docs/decisions/0018). Between machines the administrator's choice of congestion control stays. Call it before
/// connect() or listen(); accepted sockets inherit it. On a connected socket the kernel replaces BBR, but keeps its
/// pacing timers. Any thread.
void set_tcp_options(int socket, TcpScope scope) noexcept;

/// Sets the type-of-service field of every packet (the eight bits of RFC 2474; TCP keeps the lowest two for itself).
/// Does nothing for a Unix socket or without a value. Call it before connect() or listen(); accepted sockets inherit
/// it. Any thread. Throws Error (failed).
void set_type_of_service(int socket, std::optional<std::uint8_t> type_of_service);

}  // namespace framewire
