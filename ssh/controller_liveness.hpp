// Whether the controller, the host on which the user started rdpipe or the viewer, has fallen silent. For what that has
// started by ssh on other hosts.
#pragma once

#include <netinet/tcp.h>

#include <cstdint>
#include <optional>
#include <string>

#include "base/file_descriptor.hpp"

namespace framewire {

/// Queries the kernel (sock_diag(7)) for the state of the TCP connection by which ssh came here. sshd, which owns the
/// connection, notices a dead peer only after a quarter of an hour. One thread.
class ControllerLiveness {
 public:
  /// `ssh_connection` is the variable SSH_CONNECTION (ssh(1)): client, its port, server, its port. If it is empty or
  /// malformed, or this kernel does not know the connection, is_silent() is always false.
  explicit ControllerLiveness(const std::string& ssh_connection);

  /// Whether data sent to the controller is unacknowledged, and nothing came from there, for `timeout_ns`: see
  /// tcp_is_silent(). Requires that something is sent now and then. A stopped program on a host whose kernel answers
  /// is not silent.
  [[nodiscard]] bool is_silent(std::int64_t timeout_ns) const noexcept;

  /// The kernel's state of the connection.
  [[nodiscard]] std::optional<tcp_info> query() const noexcept;

 private:
  std::string request_;  // a netlink message; empty: no connection to query
  FileDescriptor kernel_;
};

}  // namespace framewire
