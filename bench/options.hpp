// The command line of framewire-bench, and the rows that it asks for.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/adaptive_spin.hpp"
#include "bench/row.hpp"
#include "bench/xdp/xdp_mode.hpp"
#include "transport/endpoint_options.hpp"

namespace framewire {

struct BenchOptions {
  EndpointOptions endpoint;             // dial: the server; listen: this is the server; neither: both run here
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

// ---- The rows that a command line asks for ----

/// The values of `--operation`, in the order of the table.
inline const std::vector<std::string>& operation_names() {
  static const std::vector<std::string> names{"stream", "send", "write", "write_imm", "read", "latency"};
  return names;
}

/// The transports of these options, or all that this machine has: plain sockets, the links of the list, and verbs where
/// the rdma link is available. XDP only for the article, or by name.
std::vector<std::string> transports_here(const BenchOptions& options);

/// The rows in the order operation, size, transport. XDP over a virtual cable comes with plain sockets and UDP over the
/// same. Throws Error (usage) when there is none.
std::vector<RowPlan> plan_rows(const BenchOptions& options, const std::vector<std::string>& transports);

}  // namespace framewire
