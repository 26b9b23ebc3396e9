#include "bench/plan.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "bench/verbs/verbs_plan.hpp"
#include "bench/xdp/frame_rows.hpp"
#include "transport/links.hpp"
#include "transport/session/endpoint.hpp"

namespace framewire {

namespace {

/// Messages in flight: enough small ones to hide a wake-up; few large ones, so that they stay in the caches if
/// possible.
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
          .is_remote = options.endpoint.dial.has_value(),
          .label = !options.is_plain       ? std::string()
                   : options.label.empty() ? std::string("plain")
                                           : options.label};
}

/// The rows of XDP, and where they are over a virtual cable those of UDP and TCP over the same.
std::vector<RowPlan> plan_rows_of_frames(const BenchOptions& options, const std::string& operation,
                                         std::uint64_t bytes) {
  const bool is_over_veth = options.interface.empty();
  std::vector<RowPlan> rows;
  const auto add = [&](const char* transport, XdpMode mode, std::uint32_t batch, const std::string& label) {
    RowPlan row = plan_row(options, transport, operation, bytes);
    row.is_over_veth = is_over_veth;
    row.wait = row.has_frames() && row.wait == WaitMode::adaptive ? WaitMode::block : row.wait;
    row.interface = options.interface;
    row.mode = mode;
    row.batch = batch;
    row.label = label;
    row.is_optional = mode == XdpMode::native && !options.is_mode_named;               // not every driver has it
    row.slots = row.has_frames() && options.slots == 0 ? max_frame_slots : row.slots;  // they bound themselves
    rows.push_back(std::move(row));
  };
  if (is_over_veth) {
    add(socket_transport, XdpMode::generic, 1, "socket veth");
    for (const std::uint32_t batch : options.batches) {
      add(udp_transport, XdpMode::generic, batch, "udp veth/" + std::to_string(batch));
    }
  }
  for (const XdpMode mode : options.xdp_modes) {
    for (const std::uint32_t batch : options.batches) {
      add(xdp_transport, mode, batch, "xdp " + std::string(name(mode)) + "/" + std::to_string(batch));
    }
  }
  return rows;
}

std::vector<RowPlan> plan_rows_of(const BenchOptions& options, const std::string& transport,
                                  const std::string& operation, std::uint64_t bytes) {
  if (!can_do(transport, operation)) {
    return {};
  }
  return transport == xdp_transport ? plan_rows_of_frames(options, operation, bytes)
                                    : std::vector{plan_row(options, transport, operation, bytes)};
}

// ---- The article's rows ----

constexpr std::uint64_t small_bytes = 64;
constexpr std::uint64_t large_bytes = std::uint64_t{1} << 20;

std::vector<std::string> operations_of_plot(const std::string& transport) {
  return transport == verbs_transport ? std::vector<std::string>{"write", "latency"}
                                      : std::vector<std::string>{"stream", "latency"};
}

/// Rows of a plot: as many messages as make 64 MiB, and at most a second each.
void add_rows_of_plot(const BenchOptions& options, const std::string& transport, std::vector<RowPlan>& rows) {
  for (std::uint64_t bytes = small_bytes; bytes <= large_bytes; bytes *= 4) {
    for (const std::string& operation : operations_of_plot(transport)) {
      for (RowPlan& row : plan_rows_of(options, transport, operation, bytes)) {
        const std::uint64_t most =
            operation == "latency" ? std::min<std::uint64_t>(options.count, 10'000) : options.count;
        row.count = std::min(most, std::max<std::uint64_t>(100, (std::uint64_t{64} << 20) / bytes));
        row.duration_ns = ns_per_s;
        row.is_for_plot = true;
        rows.push_back(std::move(row));
      }
    }
  }
}

std::vector<RowPlan> plan_article(const BenchOptions& options, const std::vector<std::string>& transports) {
  std::vector<RowPlan> rows;
  for (const std::uint64_t bytes : {small_bytes, large_bytes}) {
    for (const std::string& transport : transports) {
      for (const std::string& operation : operation_names()) {
        if (operation == "latency") {
          continue;
        }
        for (RowPlan& row : plan_rows_of(options, transport, operation, bytes)) {
          row.count = bytes == small_bytes ? options.count : std::max<std::uint64_t>(1, options.count / 100);
          rows.push_back(std::move(row));
        }
      }
    }
  }
  if (!options.plot_file.empty()) {
    for (const std::string& transport : transports) {
      add_rows_of_plot(options, transport, rows);
    }
  }
  return rows;
}

/// The links that can be measured, those first which every machine has.
std::vector<LinkKind> links_here(const EndpointOptions& endpoint) {
  std::vector<LinkKind> links = usable_links(endpoint);
  std::erase_if(links, [&](LinkKind kind) {
    // A server that the user has started may be on another machine.
    return (endpoint.dial && traits(kind).needs_same_host) || !link_provider(kind).is_available();
  });
  std::stable_partition(links.begin(), links.end(), [](LinkKind kind) { return traits(kind).missing.empty(); });
  return links;
}

}  // namespace

std::vector<std::string> transports_here(const BenchOptions& options) {
  if (options.is_plain) {
    return {socket_transport};
  }
  if (!options.transports.empty()) {
    return options.transports;
  }
  const std::vector<LinkKind> links = links_here(options.endpoint);
  std::vector<std::string> transports;
  std::ranges::transform(links, std::back_inserter(transports), [](LinkKind kind) { return std::string(name(kind)); });
  if (!options.is_reverse && !options.endpoint.encrypt) {  // sockets and verbs do neither
    transports.insert(transports.begin(), socket_transport);
    if (std::ranges::find(links, link_of_verbs) != links.end()) {
      transports.emplace_back(verbs_transport);
    }
    if (options.is_article && (!options.endpoint.dial || !options.interface.empty())) {
      transports.emplace_back(xdp_transport);
    }
  }
  return transports;
}

std::vector<RowPlan> plan_rows(const BenchOptions& options, const std::vector<std::string>& transports) {
  if (options.is_article) {
    return plan_article(options, transports);
  }
  std::vector<RowPlan> rows;
  for (const std::string& operation : options.operations) {
    for (const std::uint64_t bytes : options.message_sizes_bytes) {
      for (const std::string& transport : transports) {
        std::ranges::move(plan_rows_of(options, transport, operation, bytes), std::back_inserter(rows));
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
