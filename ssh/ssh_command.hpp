// Starting a program of framewire on another host through ssh, and what sshd tells there.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace framewire {

struct SshOptions {
  std::optional<std::string> config_file{};  // -F
  std::vector<std::string> options{};        // -o, in their order
  std::optional<std::uint16_t> port{};       // -p
  std::string remote_program{};              // text for the remote user's shell: --rdpipe-path, --send-path
};

/// The command that runs the program on `host` with one argument. What else the program is to know, it reads from
/// standard input: so nothing of it is quoted for a shell, and no secret is in a list of processes.
std::vector<std::string> ssh_arguments(const SshOptions& options, const std::string& host, const std::string& argument);

/// Whether ssh would take it for a host: not empty, not like an option, and without what OpenSSH 9.6 and newer refuse,
/// older ones not: blanks, control characters, and characters of the shell, which reads ssh's ProxyCommand. A user's
/// name may have a backslash, as in "DOMAIN\user@box".
bool is_ssh_host(std::string_view host) noexcept;

/// The HostName of `host` in the user's ssh configuration. Runs ssh itself, which takes some milliseconds. A `Match
/// exec` of the configuration may take longer: ssh is ended after five seconds, or when the descriptor `interruption`
/// becomes readable. If ssh does not say, returns `host` without a user. Throws Error if ssh cannot be run.
std::string ssh_host_name(const SshOptions& options, const std::string& host, int interruption);

// ---- On the stage's host ----

/// The variable SSH_CONNECTION (ssh(1)), which sshd sets for the programs that it starts: client and server of the TCP
/// connection, as numeric addresses.
struct SshConnection {
  std::string client;
  std::uint16_t client_port = 0;
  std::string server;
  std::uint16_t server_port = 0;
};

/// Returns nothing if the text is not four such fields.
std::optional<SshConnection> parse_ssh_connection(const std::string& text);

}  // namespace framewire
