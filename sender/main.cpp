#include <cstdio>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "command/interruption.hpp"
#include "command/run_program.hpp"
#include "command/terminal_log.hpp"
#include "sender/options.hpp"
#include "sender/program.hpp"
#include "sender/statistics.hpp"
#include "sender/viewer_channel.hpp"

namespace {

using namespace framewire;

/// `viewer`: who has started this program and is told the port; null: nobody.
ExitStatus send(const SenderOptions& options, Interruption& interruption, ViewerChannel* viewer) {
  TerminalLog log(stderr, "framewire-send", options.common.is_verbose);
  std::optional<SenderProgram> program;
  try {
    program.emplace(options, interruption, log);
    program->start_service();
  } catch (const Error& error) {
    if (!interruption.is_requested() || error.status() == ExitStatus::usage) {
      throw;
    }
    // It was waiting for a network, a device, the writer of a pipe or a name server; this is not a failure.
    log.info(error.what());
    if (options.common.stats_file) {
      write_stats_file(*options.common.stats_file, sender_statistics_json({}, {}));
    }
    return ExitStatus::ok;
  }
  if (viewer != nullptr) {
    viewer->announce(program->port());
  }
  return program->run();
}

/// The command line comes from the viewer, so that no shell reads it.
ExitStatus send_for_viewer() {
  Interruption interruption;  // before any thread starts
  ViewerChannel viewer(interruption);
  const std::optional<SenderPlan> plan = viewer.take_plan();
  if (!plan) {
    return ExitStatus::ok;
  }
  std::vector<const char*> words{"framewire-send", "--listen", "*:0"};
  for (const std::string& word : plan->words) {
    words.push_back(word.c_str());
  }
  auto options = parse_sender_options(static_cast<int>(words.size()), words.data());
  if (!options) {
    return ExitStatus::ok;
  }
  options->endpoint.one_time_key = plan->key;
  const ExitStatus status = send(*options, interruption, &viewer);
  viewer.throw_if_lost();
  return status;
}

}  // namespace

int main(int argc, char** argv) {
  return run_program("framewire-send", [&] {
    if (argc == 2 && std::string_view(argv[1]) == started_by_viewer_flag) {
      return send_for_viewer();
    }
    const auto options = parse_sender_options(argc, argv);
    if (!options) {
      return ExitStatus::ok;
    }
    Interruption interruption;  // before any thread starts
    return send(*options, interruption, nullptr);
  });
}
