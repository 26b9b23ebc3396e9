#include "rdpipe/ssh_connection.hpp"

#include <sstream>

namespace framewire {

std::optional<SshConnection> parse_ssh_connection(const std::string& text) {
  std::istringstream words(text);
  SshConnection found;
  words >> found.client >> found.client_port >> found.server >> found.server_port;
  return words ? std::optional(found) : std::nullopt;
}

}  // namespace framewire
