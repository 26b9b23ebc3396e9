// What runs on a stage's host: rdpipe itself, started there by ssh (or here), between its command and its hops.
#pragma once

namespace framewire {

/// Where a stage agent has been started.
enum class AgentPlace { here, elsewhere };

/// Speaks with rdpipe by standard input and output until its stage is over, or rdpipe is gone, or `elsewhere` its host
/// has fallen silent; then nothing that it started is left. Returns the exit status. The messages, one JSON object on
/// each line:
///   from rdpipe   plan (StagePlan), dial (hop, HopTarget), go, stop, ping
///   to rdpipe     hello (protocol, version, HostAddresses), those of its hops, command_ended (status, signal,
///   stopped),
///                 failed (sentence), pong, done
/// What the command says on standard error goes straight to rdpipe's.
int run_stage_agent(AgentPlace place);

}  // namespace framewire
