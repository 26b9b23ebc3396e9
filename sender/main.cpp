#include <cstdio>
#include <optional>

#include "base/error.hpp"
#include "command/interruption.hpp"
#include "command/run_program.hpp"
#include "command/terminal_log.hpp"
#include "sender/options.hpp"
#include "sender/program.hpp"
#include "sender/statistics.hpp"

int main(int argc, char** argv) {
  using namespace framewire;
  return run_program("framewire-send", [&] {
    const auto options = parse_sender_options(argc, argv);
    if (!options) {
      return ExitStatus::ok;
    }
    TerminalLog log(stderr, "framewire-send", options->common.is_verbose);
    Interruption interruption;  // before any thread starts
    std::optional<SenderProgram> program;
    try {
      program.emplace(*options, interruption, log);
      program->start_service();
    } catch (const Error& error) {
      if (!interruption.is_requested() || error.status() == ExitStatus::usage) {
        throw;
      }
      // It was waiting for a network, a device, the writer of a pipe or a name server; this is not a failure.
      log.info(error.what());
      if (options->common.stats_file) {
        write_stats_file(*options->common.stats_file, sender_statistics_json({}, {}));
      }
      return ExitStatus::ok;
    }
    return program->run();
  });
}
