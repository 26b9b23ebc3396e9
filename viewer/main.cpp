#include <cstdio>
#include <cstdlib>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "command/command_line.hpp"
#include "command/frame_memory.hpp"
#include "command/interruption.hpp"
#include "command/run_program.hpp"
#include "command/terminal_log.hpp"
#include "viewer/open_surface.hpp"
#include "viewer/options.hpp"
#include "viewer/program.hpp"
#include "viewer/report.hpp"
#include "viewer/statistics.hpp"

int main(int argc, char** argv) {
  using namespace framewire;
  return run_program("framewire-view", [&] {
    auto options = parse_options(argc, argv);
    if (!options) {
      return ExitStatus::ok;
    }
    TerminalLog log(stderr, "framewire-view", options->common.is_verbose);
    Interruption interruption;  // before any thread starts
    std::unique_ptr<Surface> surface;
    GpuPreferences preferences;
    if (!options->is_headless) {  // without a window, OpenGL draws with the GPU of the memory
      preferences.drawn_with = [&] {
        surface = open_surface(*options);
        return devices_that_draw(*surface);
      };
    }
    for (const ViewedSource& source : options->sources) {
      preferences.sessions.push_back(&source.subscriber.endpoint);
    }
    const FrameMemory memory(options->memory, preferences);
    memory.log_note(log);
    if (!memory.is_host()) {
      take_memory(*options, memory.kind());
    }
    std::optional<Program> program;
    try {
      program.emplace(*options, interruption, log, std::move(surface));
    } catch (const Error& error) {
      if (!interruption.is_requested() || error.status() == ExitStatus::usage) {
        throw;
      }
      // It was waiting for a name server or the reader of a pipe; this is not a failure.
      log.info(error.what());
      if (options->common.stats_file) {
        const Statistics nothing;
        ViewerReport report;
        for (const ViewedSource& source : options->sources) {
          report.streams.push_back({.statistics = nothing, .peer_text = source.peer_text});
        }
        write_stats_file(*options->common.stats_file, stats_json(report));
      }
      return ExitStatus::ok;
    }
    const ExitStatus status = program->run();
    if (program->is_blocked()) {  // a destructor would wait for the drawing thread, and so would exit()
      std::_Exit(static_cast<int>(status));
    }
    return status;
  });
}
