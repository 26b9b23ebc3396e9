// --stats: writes the statistics at the end, also after a failure.
#pragma once

#include <exception>
#include <optional>
#include <string>

#include "base/error.hpp"
#include "base/failure_text.hpp"
#include "command/command_line.hpp"
#include "command/interruption.hpp"
#include "command/named_files.hpp"
#include "command/terminal_log.hpp"

namespace framewire {

/// The statistics, as JSON, of a program that failed before it could begin.
std::string statistics_of_nothing(const std::string& error);

/// Runs a Program(options, interruption, log) and writes its statistics(error); the error is empty if it ended well. So
/// the file is always that of the last run. Throws Error: the program's, or that the file cannot be written.
template <typename Program, typename Options>
ExitStatus run_with_statistics(const Options& options, Interruption& interruption, TerminalLog& log) {
  if (!options.stats_file) {
    return Program(options, interruption, log).run();
  }
  require_writable(*options.stats_file, "--stats");
  std::optional<Program> program;
  ExitStatus status = ExitStatus::ok;
  try {
    program.emplace(options, interruption, log);
    status = program->run();
  } catch (const std::exception& error) {  // an Error, or std::bad_alloc
    try {
      write_stats_file(*options.stats_file,
                       program ? program->statistics(failure_text(error)) : statistics_of_nothing(failure_text(error)));
    } catch (const Error& second) {
      log.warning(second.what());  // the first one is why it fails
    }
    throw;
  }
  write_stats_file(*options.stats_file, program->statistics(""));
  return status;
}

}  // namespace framewire
