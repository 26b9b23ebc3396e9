#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <exception>
#include <string_view>

#include "base/error.hpp"
#include "base/failure_text.hpp"
#include "command/standard_streams.hpp"
#include "command/terminal_log.hpp"
#include "rdpipe/describe_plan.hpp"
#include "rdpipe/options.hpp"
#include "rdpipe/pipeline.hpp"
#include "rdpipe/pipeline_result.hpp"
#include "rdpipe/stage_agent.hpp"

namespace {

using namespace framewire;

/// Checks rdpipe's own standard input and output, if the pipeline uses them, before anything is started.
void require_own_ends(const std::vector<Stage>& stages) {
  struct stat input {};
  if (stages.front().work != StageWork::source && ::fstat(STDIN_FILENO, &input) == 0 && S_ISDIR(input.st_mode)) {
    throw Error::failed("standard input is a directory; let the first stage read it: rdpipe :'tar c DIRECTORY' …");
  }
  if (stages.back().work != StageWork::sink && !is_open_for_writing(STDOUT_FILENO)) {
    throw Error::failed("standard output is closed, or not open for writing; end the pipeline with a '>file' stage");
  }
}

int run(int argc, char** argv) {
  const auto options = parse_rdpipe_options(argc, argv);
  if (!options) {
    return 0;
  }
  if (options->only_shows) {
    std::fputs(describe_plan(*options).c_str(), stdout);
    return 0;
  }
  require_own_ends(options->stages);
  TerminalLog log(stderr, "rdpipe", options->is_verbose);
  return run_pipeline(*options, log);
}

}  // namespace

int main(int argc, char** argv) {
  reserve_standard_fds();
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);
  try {
    if (argc == 2 && std::string_view(argv[1]) == agent_flag) {
      return run_stage_agent(AgentPlace::elsewhere);
    }
    const int status = run(argc, argv);
    // A reader that has gone, as `| head`, has read enough.
    return std::fflush(stdout) == 0 || has_no_reader(STDOUT_FILENO) ? status : own_failure_status;
  } catch (const std::exception& error) {
    TerminalLog(stderr, "rdpipe", false).error(failure_text(error));
    return own_failure_status;  // also for a wrong command line: 2 may be a stage's status
  }
}
