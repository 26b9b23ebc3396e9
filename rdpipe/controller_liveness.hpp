// Whether the host on which rdpipe runs has fallen silent, as one of its stages elsewhere sees it.
#pragma once

#include <netinet/tcp.h>

#include <cstdint>
#include <optional>
#include <string>

#include "base/file_descriptor.hpp"

namespace framewire {

/// Looks at the TCP connection by which ssh came here. It is sshd's, which notices by itself only after a quarter of an
/// hour; the kernel says to anybody how it stands (sock_diag(7)). One thread.
class ControllerLiveness {
 public:
  /// `ssh_connection` is the variable of that name (ssh(1)): client, its port, server, its port. Where it is empty, or
  /// is no such connection, or is not known to this kernel, home is never silent.
  explicit ControllerLiveness(const std::string& ssh_connection);

  /// Whether what was sent home is unanswered, and nothing was heard from there, for so long: see tcp_is_silent().
  /// Something has to be sent now and then. A home that is stopped, and whose kernel answers, is not silent.
  [[nodiscard]] bool is_silent(std::int64_t timeout_ns) const noexcept;

  /// What the kernel knows of the connection.
  [[nodiscard]] std::optional<tcp_info> query() const noexcept;

 private:
  std::string request_;  // a netlink message; empty: there is nobody to be asked for
  FileDescriptor kernel_;
};

}  // namespace framewire
