// rdpipe: starts the stages of a pipeline, connects them, and reports how they ended.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "command/terminal_log.hpp"
#include "rdpipe/plan.hpp"
#include "rdpipe/stage.hpp"
#include "ssh/ssh_command.hpp"

namespace framewire {

struct PipelineOptions {
  std::vector<Stage> stages;
  SshOptions ssh{};
  std::map<std::string, std::string> data_addresses{};  // by host, as written in the stages
  HopParameters parameters{};
  bool is_verbose = false;
  bool only_shows = false;  // -n
};

/// Runs the pipeline. The data go directly from host to host; ssh carries only the plan, keys and reports. Returns
/// rdpipe's exit status after every process that it started has ended. One thread; handles SIGINT, SIGTERM, SIGHUP and
/// SIGCHLD. Throws Error if nothing has been started yet.
int run_pipeline(const PipelineOptions& options, TerminalLog& log);

}  // namespace framewire
