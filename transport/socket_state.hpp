// State of connected sockets.
#pragma once

#include <netinet/tcp.h>

#include <cstdint>
#include <initializer_list>

#include "base/file_descriptor.hpp"
#include "transport/link.hpp"

namespace framewire {

/// Checks the peer of a stream socket without reading: open, closed (end of stream) or lost (an error).
LinkState socket_state(int socket) noexcept;

/// Whether something can be read from a socket now.
bool has_bytes(int socket) noexcept;

/// An epoll descriptor that is readable when any of these is, so that poll() needs only one. Throws Error.
FileDescriptor make_poller(std::initializer_list<int> descriptors);
/// Of a poller: it is also readable when this is, until that is closed. Throws Error. Any thread.
void watch_also(int poller, int descriptor);

/// Whether a poller is also readable while `socket`, one of its descriptors, is writable. Any thread.
void watch_writable(int poller, int socket, bool watches) noexcept;

/// Enables keepalive on an idle TCP connection: one probe each second (fewer for a timeout above 100 s), and an error
/// after `timeout_ns`.
void watch_peer(int tcp_socket, std::int64_t timeout_ns) noexcept;

/// Whether a TCP peer's kernel has stopped answering: data or window probes are unacknowledged, and nothing arrived for
/// `timeout_ns`. A stopped program whose kernel still answers is not silent; TCP_USER_TIMEOUT would end its connection,
/// too.
bool tcp_peer_is_silent(int tcp_socket, std::int64_t timeout_ns) noexcept;
/// The same for a connection of another process.
bool tcp_is_silent(const tcp_info& info, std::int64_t timeout_ns) noexcept;

}  // namespace framewire
