// ssh as rdpipe uses it: to start itself on a stage's host, and to speak with it there.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace framewire {

struct SshOptions {
  std::optional<std::string> config_file{};  // -F
  std::vector<std::string> options{};        // -o, in their order
  std::string remote_program = "rdpipe";     // as the remote user's shell finds it
};

/// The word by which rdpipe knows that it is to be a stage's agent.
inline constexpr const char* agent_flag = "--stage";

/// The command that starts the agent on `host`: nothing of the pipeline stands in it.
std::vector<std::string> ssh_arguments(const SshOptions& options, const std::string& host);

/// The name or address that the user's configuration gives for `host`. Asks ssh itself, which takes some milliseconds;
/// a `Match exec` of the configuration may take longer, and is ended when `interruption`, a descriptor, becomes
/// readable, or after five seconds. The host's own name (without a user) where ssh does not say. Throws Error where ssh
/// cannot be run.
std::string ssh_host_name(const SshOptions& options, const std::string& host, int interruption);

}  // namespace framewire
