// Which rows a command line asks for.
#pragma once

#include <string>
#include <vector>

#include "bench/options.hpp"
#include "bench/row.hpp"

namespace framewire {

/// What `--operation` takes, in the order of the table.
inline const std::vector<std::string>& operation_names() {
  static const std::vector<std::string> names{"stream", "send", "write", "write_imm", "read", "latency"};
  return names;
}

/// All that this machine can do: with verbs and rdma where there is an RDMA device.
std::vector<std::string> transports_here(const BenchOptions& options);

/// By operation, size and transport. Throws Error (usage) when nothing is left.
std::vector<RowPlan> plan_rows(const BenchOptions& options, const std::vector<std::string>& transports);

}  // namespace framewire
