#include "bench/client.hpp"

#include <algorithm>
#include <cstring>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "bench/convention.hpp"
#include "transport/control/address.hpp"
#include "transport/session/sender_service.hpp"

namespace framewire {

namespace {

constexpr std::int64_t farewell_ns = 30 * ns_per_s;

/// Publishes messages until the plan is fulfilled; returns how many.
std::uint64_t send_messages(Stream& stream, const RowPlan& plan) {
  const FrameInfo info{.user_tag = tag_of(plan.wait) | (plan.touches_payload ? bench_tag_touch : 0), .layout = {}};
  const std::int64_t begin_ns = monotonic_ns();
  const std::int64_t period_ns = plan.rate_per_s > 0 ? static_cast<std::int64_t>(1e9 / plan.rate_per_s) : 0;
  std::uint64_t count = 0;
  for (; !plan.is_over(count, monotonic_ns() - begin_ns); ++count) {
    if (period_ns > 0 && !stream.sleep_until(begin_ns + static_cast<std::int64_t>(count) * period_ns)) {
      break;
    }
    auto slot = stream.claim();
    if (!slot) {
      break;
    }
    if (plan.touches_payload) {
      std::memset(slot->bytes().data(), static_cast<int>(count & 0xff), slot->bytes().size());
    }
    stream.publish(std::move(*slot), info);
  }
  return count;
}

}  // namespace

Error no_server(const HostPort& at) {
  return Error::lost_peer("no bench server came at " + format_host_port(at) +
                          "; start one there with framewire bench --listen '*:" + std::to_string(at.port) + "'");
}

void require_every_message(const RowResult& row) {
  if (row.server.count != row.client.count) {
    throw Error::failed("the server received " + std::to_string(row.server.count) + " of " +
                        std::to_string(row.client.count) + " messages");
  }
}

RowResult measure_row(const RowPlan& plan, const EndpointOptions& endpoint, Log& log) {
  Stream stream({.name = "bench",
                 .delivery = Delivery::every,
                 .slots_per_viewer = plan.slots,
                 .max_viewers = 1,
                 .ends_with_viewers = true,
                 .one_at_a_time = plan.operation == "latency",
                 .wait = plan.wait});
  stream.begin_epoch({.layout = bytes_layout(plan.message_bytes), .colour = {}});
  EndpointOptions dialling = endpoint;
  const auto kind = link_kind_from_name(plan.transport);
  dialling.allowed_links = {kind.value_or(LinkKind::tcp)};
  SenderService service(dialling, {&stream}, "framewire-bench " FRAMEWIRE_VERSION, log);
  const std::int64_t give_up_ns = monotonic_ns() + server_patience_ns;
  while (stream.viewer_count() == 0) {
    if (monotonic_ns() >= give_up_ns) {
      throw no_server(*endpoint.dial);
    }
    if (const std::string refusal = service.refusal(); !refusal.empty()) {
      throw CannotBegin(Error::refused(refusal));
    }
    stream.sleep_until(monotonic_ns() + ns_per_ms);
  }
  RowResult row{.plan = plan, .client = {}, .server = {}};
  const std::int64_t begin_ns = monotonic_ns();
  const std::int64_t cpu_begin_ns = process_cpu_ns();
  row.client.count = send_messages(stream, plan);
  stream.finish();
  service.drain(monotonic_ns() + farewell_ns);
  row.client.seconds = static_cast<double>(monotonic_ns() - begin_ns) / 1e9;
  row.client.cpu_seconds = static_cast<double>(process_cpu_ns() - cpu_begin_ns) / 1e9;
  const auto reports = service.reports();
  if (reports.empty() || reports.front().viewer_statistics.empty()) {
    throw Error::lost_peer(reports.empty() ? "the bench server left" : reports.front().ending);
  }
  row.server = end_result_from_json(reports.front().viewer_statistics);
  require_every_message(row);
  return row;
}

}  // namespace framewire
