// Small questions to connected sockets.
#pragma once

#include <netinet/tcp.h>

#include <cstdint>
#include <initializer_list>

#include "base/file_descriptor.hpp"
#include "transport/link.hpp"

namespace framewire {

/// Whether the peer of a stream socket is still there, by looking without reading: open, closed (end of stream) or lost
/// (an error).
LinkState socket_state(int socket) noexcept;

/// Whether something can be read from a socket now.
bool has_bytes(int socket) noexcept;

/// An epoll descriptor that is readable when any of these is: one thing to wait for in place of several. Throws Error.
FileDescriptor make_poller(std::initializer_list<int> descriptors);

/// Makes the kernel find out whether a TCP peer is there while nothing is under way: probes each second, an error after
/// `timeout_ns`.
void watch_peer(int tcp_socket, std::int64_t timeout_ns) noexcept;

/// Whether a TCP peer's kernel has stopped answering: data or window probes are unanswered and nothing was heard for
/// `timeout_ns`. A peer that is stopped but whose kernel answers is not silent (TCP_USER_TIMEOUT would kill it).
bool tcp_peer_is_silent(int tcp_socket, std::int64_t timeout_ns) noexcept;
/// The same of a connection that is not this process's.
bool tcp_is_silent(const tcp_info& info, std::int64_t timeout_ns) noexcept;

}  // namespace framewire
