// The rows that a command line of framewire-bench asks for.
#pragma once

#include <string>
#include <vector>

#include "bench/options.hpp"
#include "bench/row.hpp"
#include "transport/link.hpp"

namespace framewire {

/// Where it is available, verbs are, too.
inline constexpr LinkKind link_of_verbs = LinkKind::rdma;

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
