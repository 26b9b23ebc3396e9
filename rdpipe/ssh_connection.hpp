// The variable SSH_CONNECTION, which sshd sets for the programs that it starts.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace framewire {

/// SSH_CONNECTION (ssh(1)): client and server of the TCP connection, as numeric addresses.
struct SshConnection {
  std::string client;
  std::uint16_t client_port = 0;
  std::string server;
  std::uint16_t server_port = 0;
};

/// Returns nothing if the text is not four such fields.
std::optional<SshConnection> parse_ssh_connection(const std::string& text);

}  // namespace framewire
