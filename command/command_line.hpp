// Options and helpers that the command lines of all programs share.
#pragma once

#include <cstdint>
#include <cstdio>
#include <optional>
#include <string>
#include <string_view>

#include "base/adaptive_spin.hpp"
#include "transport/endpoint_options.hpp"

namespace CLI {
class App;
}

namespace framewire {

/// The text of the options that every program with a session has, before it is parsed.
struct RawCommonOptions {
  std::string transport = "auto";
  std::string memory = "auto";
  std::string key;
  std::string timeout;
  std::string type_of_service;
  std::string rdma_address;
  std::string frames;
  std::string duration;
  std::string stats;
  bool is_insecure = false;
  bool encrypt = false;
  bool relaxed_ordering = false;  // the default; the option exists to state it
  bool strict_ordering = false;
  bool spins = false;
  bool is_verbose = false;
};

/// The parsed values.
struct CommonOptions {
  std::uint64_t max_frames = 0;      // 0: no limit
  std::int64_t max_duration_ns = 0;  // 0: no limit
  std::optional<std::string> stats_file;
  bool is_verbose = false;
};

/// Adds --transport, --memory, --key, --insecure, --encrypt, --timeout, --tos and --rdma-address.
void add_endpoint_options(CLI::App& app, RawCommonOptions& raw);
/// Adds --relaxed-ordering and --no-relaxed-ordering, for receivers.
void add_ring_options(CLI::App& app, RawCommonOptions& raw);
/// Adds --spin, for programs that wait for frames; see wait_mode_of().
void add_spin_option(CLI::App& app, RawCommonOptions& raw);
/// Adds --frames, --duration, --stats and --verbose.
void add_run_options(CLI::App& app, RawCommonOptions& raw);

/// Both throw Error (usage) that names the option, its value and what it accepts.
void parse_endpoint_options(const RawCommonOptions& raw, EndpointOptions& endpoint);
CommonOptions parse_run_options(const RawCommonOptions& raw);

/// How the program waits for frames.
constexpr WaitMode wait_mode_of(const RawCommonOptions& raw) noexcept {
  return raw.spins ? WaitMode::spin : WaitMode::adaptive;
}

/// Prints --help.
void print_help(CLI::App& app, std::FILE* to);

/// Parses argv with `app`, and handles --help, --version and --write-manual (command/manual.hpp). Returns false if it
/// printed one of these on stdout. Throws Error (usage) for any other unknown argument, and for options with an empty
/// value.
bool parse_command_line(CLI::App& app, int argc, const char* const* argv);

/// Throws Error if `file` of option `what` cannot be written. Called at the start, so that a long run does not fail at
/// its end.
void require_writable(const std::string& file, std::string_view what);

/// Throws Error (usage) if --stats would overwrite the data.
void require_another_file(const std::string& stats, const std::string& data);

/// Writes one JSON object and a newline to --stats FILE. Throws Error, also if FILE is a named pipe that nobody reads.
void write_stats_file(const std::string& file, const std::string& json);

}  // namespace framewire
