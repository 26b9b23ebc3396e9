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
  any,  // the Unix socket first, if the host is this machine
  tcp,  // TCP only, addresses of this machine first: a session on this machine keeps its data on it
};

struct DialledSocket {
  FileDescriptor fd;  // non-blocking, close-on-exec; on TCP with set_tcp_options()
  bool is_unix = false;
  std::string address;  // for messages: the requested "HOST:PORT", with the numeric address if that differs
};

/// Connects one TCP or Unix socket: non-blocking, close-on-exec, on TCP with set_tcp_options() and
/// set_type_of_service(), which may throw. Any thread. When it fails before the deadline, the descriptor is invalid and
/// `error_number` is the errno (ECANCELED after `stop`); otherwise `error_number` is 0.
FileDescriptor connect_to(const SocketAddress& address, std::int64_t deadline_ns, int& error_number,
                          const StopWait& stop = {}, std::optional<std::uint8_t> type_of_service = {});

/// Connects to HOST:PORT. If that is an address of this machine, it tries the user's own abstract Unix socket first.
/// Tries every address of the host; each gets its share of the remaining time. The deadline applies to connecting, not
/// to the name look-up before it; `stop` ends both. Any thread. Throws NoPeer (connection refused), and Error:
/// lost_peer (no answer until the deadline, no route, `stop`), failed (unknown host), refused (the Unix socket belongs
/// to another user).
DialledSocket dial(const HostPort& to, std::int64_t deadline_ns, DialMode mode = DialMode::any,
                   const StopWait& stop = {}, std::optional<std::uint8_t> type_of_service = {});

/// The address for further connections of the same session. After TCP it is the numeric address that was reached: if
/// several machines share a name, only this one knows the session. After the Unix socket it is `asked`. Throws Error.
HostPort reached(const DialledSocket& dialled, const HostPort& asked);

/// Whether the process on the other side of a Unix socket has our user id (SO_PEERCRED). Both sides check.
bool check_same_user(int fd) noexcept;

}  // namespace framewire
