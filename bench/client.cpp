#include "bench/client.hpp"

#include "base/clock.hpp"
#include "base/error.hpp"
#include "bench/message_source.hpp"
#include "bench/warm_up.hpp"
#include "transport/control/address.hpp"
#include "transport/session/sender_service.hpp"

namespace framewire {

namespace {

constexpr std::int64_t farewell_ns = 30 * ns_per_s;

}  // namespace

Error no_server(const HostPort& at) {
  return Error::lost_peer("no bench server came at " + format_host_port(at) +
                          "; start one there with framewire bench --listen '*:" + std::to_string(at.port) + "'");
}

void require_every_message(const RowResult& row) {
  const EndResult& sender = row.plan.is_reverse ? row.server : row.client;
  const EndResult& receiver = row.plan.is_reverse ? row.client : row.server;
  if (receiver.count != sender.count) {
    throw Error::failed(std::string("the ") + (row.plan.is_reverse ? "client" : "server") + " received " +
                        std::to_string(receiver.count) + " of " + std::to_string(sender.count) + " messages");
  }
}

RowResult measure_row(const RowPlan& plan, const EndpointOptions& endpoint, Log& log) {
  Stream stream(stream_options_of(plan));
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
  warm_up(stream, plan);  // a server that leaves meanwhile is met again below
  const std::int64_t begin_ns = monotonic_ns();
  const std::int64_t cpu_begin_ns = process_cpu_ns();
  row.client = send_messages(stream, plan);
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
