#include "doctor/host_remedies.hpp"

#include <fmt/format.h>

#include "command/shell_word.hpp"
#include "transport/address.hpp"

namespace framewire {

namespace {

/// A command as one word. Single quotes in it are easier to read within double ones, where nothing else means
/// something.
std::string command_word(const std::string& command) {
  const bool is_simple = command.find_first_of("\"$`\\!") == std::string::npos;
  return command.find('\'') != std::string::npos && is_simple ? fmt::format("\"{}\"", command) : shell_word(command);
}

/// A command on the other machine, from here.
std::string over_there(const RemoteHostReport& host, const std::string& command, bool has_terminal) {
  if (host.is_own_address) {
    return command;
  }
  return fmt::format("ssh {}{} {}", has_terminal ? "-t " : "", shell_word(host.target.at.host), command_word(command));
}

std::string key_options(const RemoteHostReport& host) {
  return host.target.key_file ? " --file " + shell_word(*host.target.key_file) : "";
}

}  // namespace

std::string start_server(const RemoteHostReport& host, std::uint16_t port) {
  const std::string listen = host.is_own_address ? fmt::format(":{}", port) : fmt::format("'*:{}'", port);
  return over_there(
      host, fmt::format("framewire bench --listen {}{}", listen, host.target.insecure ? " --insecure" : ""), true);
}

Commands start_server_with_key(const RemoteHostReport& host, const MachineFacts& machine) {
  Commands commands;
  if (!host.is_own_address && !host.target.insecure && !host.target.key_file && !machine.key.exists) {
    commands = share_key(host, false);
  }
  commands.push_back(start_server(host, host.target.at.port));
  return commands;
}

Commands share_key(const RemoteHostReport& host, bool has_key) {
  Commands commands;
  if (!has_key) {
    commands.push_back("framewire key" + key_options(host));
  }
  if (!host.is_own_address) {
    commands.push_back(fmt::format("framewire key{} --export | ssh {} framewire key --import -", key_options(host),
                                   shell_word(host.target.at.host)));
  }
  return commands;
}

Commands open_port(std::uint16_t port, std::string_view protocol, std::string_view where) {
  return {
      fmt::format("sudo nft insert rule inet filter input {} dport {} accept   # nftables, {}", protocol, port, where),
      fmt::format("sudo firewall-cmd --permanent --add-port={}/{} && sudo firewall-cmd --reload   # firewalld", port,
                  protocol),
      fmt::format("sudo ufw allow {}/{}   # ufw", port, protocol)};
}

std::string examine_at(const RemoteHostReport& host, std::uint16_t port) {
  const HostPort at{.host = host.target.at.host, .port = port};
  return fmt::format("framewire doctor {}{}{}", shell_word(format_host_port(at)),
                     host.target.key_file ? " --key " + shell_word(*host.target.key_file) : "",
                     host.target.insecure ? " --insecure" : "");
}

std::uint16_t other_port(std::uint16_t port) noexcept {
  // 5291 is that of bytes.
  return static_cast<std::uint16_t>(port == default_frame_port ? default_bytes_port + 1
                                                               : (port == UINT16_MAX ? port - 1 : port + 1));
}

}  // namespace framewire
