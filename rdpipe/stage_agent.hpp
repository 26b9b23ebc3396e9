// rdpipe as a stage agent: ssh starts it on a stage's host (or rdpipe starts it here) to run the command and the hops.
#pragma once

namespace framewire {

/// The argument that makes rdpipe a stage agent.
inline constexpr const char* agent_flag = "--stage";

/// Where a stage agent has been started.
enum class AgentPlace { here, elsewhere };

/// Talks to rdpipe through standard input and output until its stage is over, rdpipe is gone, or (`elsewhere`) its
/// controller has fallen silent. All of its processes have ended when it returns. Returns the exit status. The
/// messages, one JSON object on each line:
///   from rdpipe   plan (StagePlan), dial (hop, HopTarget), go, stop, ping
///   to rdpipe     hello (protocol, version, HostAddresses), those of its hops,
///                 command_ended (status, signal, stopped), failed (sentence), pong, done
/// The command's standard error is rdpipe's own.
int run_stage_agent(AgentPlace place);

}  // namespace framewire
