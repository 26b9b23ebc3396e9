// The command line of framewire-bench.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/adaptive_spin.hpp"
#include "bench/row.hpp"
#include "bench/xdp/xdp_mode.hpp"
#include "command/common_options.hpp"
#include "transport/endpoint_options.hpp"

namespace framewire {

struct BenchOptions {
  EndpointOptions endpoint;             // dial: the server; listen: this is the server; neither: both run here
  MemoryChoice memory;                  // of the messages of links
  std::vector<std::string> transports;  // names of links, "socket", "verbs", "xdp"; empty: all available
  std::vector<std::string> operations;
  std::vector<std::uint64_t> message_sizes_bytes;
  std::uint64_t count = 0;       // messages of one row; 0: no limit
  std::int64_t duration_ns = 0;  // of one row; 0: no limit
  std::uint32_t slots = 0;       // messages in flight; 0: depends on the size
  double rate_per_s = 0;         // of the latency rows; 0: one at a time, without a pause
  WaitMode wait = WaitMode::adaptive;
  bool touches_payload = false;  // write and read every byte
  bool is_reverse = false;       // the server sends
  std::uint32_t repeats = 1;
  // xdp
  std::string interface {};  // this end's; empty: a virtual cable on this machine
  std::vector<XdpMode> xdp_modes;
  bool is_mode_named = false;  // by the user
  std::vector<std::uint32_t> batches;
  // Plain sockets that run under any stack
  bool is_plain = false;
  std::string label{};  // of their rows; empty: "plain"
  bool is_article = false;
  std::string plot_file{};
  bool as_json = false;
  bool is_verbose = false;
};

/// Nothing after --help or --version. Throws Error (usage).
std::optional<BenchOptions> parse_bench_options(int argc, const char* const* argv);

}  // namespace framewire
