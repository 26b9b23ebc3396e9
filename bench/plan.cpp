#include "bench/plan.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "bench/verbs/verbs_plan.hpp"
#include "transport/session/rdma_data.hpp"

namespace framewire {

namespace {

/// In flight: enough small messages to hide a wake-up, few large ones to stay in the caches where that is possible at
/// all.
std::uint32_t slots_for(const BenchOptions& options, std::uint64_t message_bytes) {
  if (options.slots != 0) {
    return options.slots;
  }
  constexpr std::uint64_t in_flight_bytes = std::uint64_t{16} << 20;
  return static_cast<std::uint32_t>(std::clamp<std::uint64_t>(in_flight_bytes / message_bytes, 4, 64));
}

bool can_do(const std::string& transport, const std::string& operation) {
  const bool is_verbs = verbs_operation_from_name(operation).has_value();
  return operation == "latency" || is_verbs == (transport == verbs_transport);
}

RowPlan plan_row(const BenchOptions& options, const std::string& transport, const std::string& operation,
                 std::uint64_t bytes) {
  return {.transport = transport,
          .operation = operation,
          .message_bytes = bytes,
          .count = options.count,
          .duration_ns = options.duration_ns,
          .slots = slots_for(options, bytes),
          .rate_per_s = operation == "latency" ? options.rate_per_s : 0,
          .wait = transport == socket_transport ? WaitMode::block : options.wait,
          .touches_payload = options.touches_payload,
          .is_reverse = options.is_reverse,
          .is_remote = options.endpoint.dial.has_value()};
}

}  // namespace

std::vector<std::string> transports_here(const BenchOptions& options) {
  if (!options.transports.empty()) {
    return options.transports;
  }
  // A server that somebody has started may be on another machine.
  auto transports = options.endpoint.dial ? std::vector<std::string>{socket_transport, "tcp"}
                                          : std::vector<std::string>{socket_transport, "local", "tcp"};
  if (has_rdma_device()) {
    transports.insert(transports.end(), {"rdma", verbs_transport});
  }
  if (options.is_reverse) {
    std::erase_if(transports, [](const std::string& one) { return one == socket_transport || one == verbs_transport; });
  }
  return transports;
}

std::vector<RowPlan> plan_rows(const BenchOptions& options, const std::vector<std::string>& transports) {
  std::vector<RowPlan> rows;
  for (const std::string& operation : options.operations) {
    for (const std::uint64_t bytes : options.message_sizes_bytes) {
      for (const std::string& transport : transports) {
        if (can_do(transport, operation)) {
          rows.push_back(plan_row(options, transport, operation, bytes));
        }
      }
    }
  }
  if (rows.empty()) {
    throw Error::usage(
        "--operation names nothing that --transport does: verbs has send, write, write_imm, read and "
        "latency, the others have stream and latency");
  }
  return rows;
}

}  // namespace framewire
