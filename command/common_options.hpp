// What the options that every program with a session has mean. They come from a command line, or from a program that
// uses the C library.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/adaptive_spin.hpp"
#include "transport/endpoint_options.hpp"

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
  bool takes_gpu_memory = false;  // whether the program takes --memory cuda
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

/// --memory: what frames lie in.
struct MemoryChoice {
  bool is_cuda = false;
  std::string gpu{};  // its UUID or PCI address; empty: see GpuPreferences
};
/// Throws Error (usage), also for `cuda` if the program does not take it.
MemoryChoice parse_memory(const RawCommonOptions& raw);

/// Both throw Error (usage) that names the option, its value and what it accepts.
void parse_endpoint_options(const RawCommonOptions& raw, EndpointOptions& endpoint);
CommonOptions parse_run_options(const RawCommonOptions& raw);

/// How the program waits for frames.
constexpr WaitMode wait_mode_of(const RawCommonOptions& raw) noexcept {
  return raw.spins ? WaitMode::spin : WaitMode::adaptive;
}

/// Of what the names of streams consist, which are sent to other machines: the same in every locale.
inline constexpr std::size_t max_stream_name_characters = 64;
constexpr bool is_stream_name_character(char c) noexcept {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_' || c == '.';
}

/// HOST[:PORT][/STREAM], of a sender to dial.
struct StreamAddress {
  HostPort host;
  std::string stream;  // empty: the sender's first one
};
/// An empty host is localhost. Throws Error (usage) that begins with `what`.
StreamAddress parse_stream_address(std::string_view text, std::string_view what);

}  // namespace framewire
