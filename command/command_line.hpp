// Options and helpers that the command lines of all programs share.
#pragma once

#include <cstdio>
#include <string>
#include <string_view>

#include "command/common_options.hpp"

namespace CLI {
class App;
}

namespace framewire {

/// Adds --transport, --memory, --key, --insecure, --encrypt, --timeout, --tos and --rdma-address. Set
/// `raw.takes_gpu_memory` before.
void add_endpoint_options(CLI::App& app, RawCommonOptions& raw);
/// Adds --relaxed-ordering and --no-relaxed-ordering, for receivers.
void add_ring_options(CLI::App& app, RawCommonOptions& raw);
/// Adds --spin, for programs that wait for frames; see wait_mode_of().
void add_spin_option(CLI::App& app, RawCommonOptions& raw);
/// Adds --frames, --duration, --stats and --verbose. `duration_begins`: when the time of --duration does.
void add_run_options(CLI::App& app, RawCommonOptions& raw, const std::string& duration_begins);

/// Prints --help.
void print_help(CLI::App& app, std::FILE* to);

/// Parses argv with `app`, and handles --help, --version and --write-manual (command/manual.hpp). Returns false if it
/// printed one of these on stdout. Throws Error (usage) for any other unknown argument, and for options with an empty
/// value.
bool parse_command_line(CLI::App& app, int argc, const char* const* argv);

/// Writes one JSON object and a newline to --stats FILE. Throws Error, also if FILE is a named pipe that nobody reads.
void write_stats_file(const std::string& file, const std::string& json);

}  // namespace framewire
