// The dialling side of a connection.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/file_descriptor.hpp"
#include "transport/address.hpp"
#include "transport/endpoint_options.hpp"

namespace framewire {

enum class DialMode {
  any,  // the Unix socket first, where the host is this machine
  tcp,  // TCP only; addresses of this machine first, since data of a session over its Unix socket stay here
};

struct DialledSocket {
  FileDescriptor fd;  // non-blocking, close-on-exec; on TCP with set_tcp_options()
  bool is_unix = false;
  std::string address;  // for messages: "HOST:PORT" as it was asked for, with the numeric address where that differs
};

/// Connects one socket, TCP or Unix: non-blocking, close-on-exec, on TCP with set_tcp_options() and
/// set_type_of_service(), which may throw. Any thread. Where it
/// fails until the deadline the descriptor is not valid and `error_number`, else 0, says why: ECANCELED at `stop`.
FileDescriptor connect_to(const SocketAddress& address, std::int64_t deadline_ns, int& error_number,
                          const StopWait& stop = {}, std::optional<std::uint8_t> type_of_service = {});

/// Connects to HOST:PORT. When that is an address of this machine, the abstract Unix socket of our own user comes
/// first. Tries every address of the host; each gets its share of the time that is left. Any thread. Throws Error:
/// lost_peer (refused by the machine, no answer until the deadline, no route, `stop`), failed (unknown host), refused
/// (the Unix socket belongs to another user). The deadline is for connecting; the look-up of a name before it takes its
/// time, and `stop` ends both.
DialledSocket dial(const HostPort& to, std::int64_t deadline_ns, DialMode mode = DialMode::any,
                   const StopWait& stop = {}, std::optional<std::uint8_t> type_of_service = {});

/// Where to dial what else belongs to that connection: the numeric address that was reached by TCP, because of several
/// machines behind one name only this one knows the session; `asked` itself for the Unix socket. Throws Error.
HostPort reached(const DialledSocket& dialled, const HostPort& asked);

/// Whether the process at the other end of a Unix socket runs under our own user id (SO_PEERCRED). Both ends check.
bool check_same_user(int fd) noexcept;

}  // namespace framewire
