// Starting rdpipe on a stage's host through ssh.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace framewire {

struct SshOptions {
  std::optional<std::string> config_file{};  // -F
  std::vector<std::string> options{};        // -o, in their order
  std::string remote_program = "rdpipe";     // text for the remote user's shell: --rdpipe-path
};

/// The argument that makes rdpipe a stage agent.
inline constexpr const char* agent_flag = "--stage";

/// The command that starts the agent on `host`. It contains nothing of the pipeline.
std::vector<std::string> ssh_arguments(const SshOptions& options, const std::string& host);

/// The HostName of `host` in the user's ssh configuration. Runs ssh itself, which takes some milliseconds. A `Match
/// exec` of the configuration may take longer: ssh is ended after five seconds, or when the descriptor `interruption`
/// becomes readable. If ssh does not say, returns `host` without a user. Throws Error if ssh cannot be run.
std::string ssh_host_name(const SshOptions& options, const std::string& host, int interruption);

}  // namespace framewire
