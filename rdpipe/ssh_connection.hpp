// What sshd tells the programs that it starts.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace framewire {

/// SSH_CONNECTION (ssh(1)): both ends of the TCP connection, as addresses without names.
struct SshConnection {
  std::string client;
  std::uint16_t client_port = 0;
  std::string server;
  std::uint16_t server_port = 0;
};

/// Nothing where the text is not four such words.
std::optional<SshConnection> parse_ssh_connection(const std::string& text);

}  // namespace framewire
