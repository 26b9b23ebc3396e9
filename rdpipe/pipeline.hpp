// rdpipe: starts the stages of a pipeline, joins them, and says how they ended.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/log.hpp"
#include "rdpipe/plan.hpp"
#include "rdpipe/ssh.hpp"
#include "rdpipe/stage.hpp"

namespace framewire {

struct PipelineOptions {
  std::vector<Stage> stages;
  SshOptions ssh{};
  std::map<std::string, std::string> data_addresses{};  // by host, as it stands in the stages
  HopParameters parameters{};
  bool is_verbose = false;
  bool only_shows = false;  // -n
};

/// What would be run, for a person.
std::string describe_plan(const PipelineOptions& options);

/// The data go from host to host; over ssh go only the plan, keys and reports. Returns rdpipe's exit status when every
/// process that it has started is gone. One thread; takes SIGINT, SIGTERM, SIGHUP and SIGCHLD. Throws Error where
/// nothing has been started yet.
int run_pipeline(const PipelineOptions& options, Log& log);

}  // namespace framewire
