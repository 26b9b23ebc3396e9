#include "bench/reverse_client.hpp"

#include <atomic>
#include <chrono>
#include <optional>
#include <string>
#include <thread>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "bench/bench_protocol.hpp"
#include "bench/client.hpp"
#include "bench/reverse_protocol.hpp"
#include "bench/row_meter.hpp"
#include "transport/session/handshake.hpp"
#include "transport/session/subscriber.hpp"

namespace framewire {

namespace {

constexpr const char* program = "framewire-bench " FRAMEWIRE_VERSION;

/// A viewer's options, that gives up at once: whether it is worth another try is decided here.
SubscriberOptions viewing_of(const RowPlan& plan, const EndpointOptions& endpoint, std::atomic<bool>& is_heard) {
  SubscriberOptions options{.endpoint = endpoint, .stream = {}, .delivery = {}};
  options.endpoint.allowed_links = {link_kind_from_name(plan.transport).value_or(LinkKind::tcp)};
  options.endpoint.transport_is_auto = false;
  options.retry_ns = 0;
  options.reconnect = false;
  options.program = program;
  options.before_hello = [&plan, &is_heard](MessageChannel& channel) {
    exchange_hellos(channel, bench_role, program, {"viewer"});
    is_heard = true;
    request_reverse_row(channel, plan);
  };
  return options;
}

/// Nothing, and why, where no server was there just now.
std::optional<RowResult> try_row(const RowPlan& plan, const RowContext& context, std::string& why) {
  std::atomic<bool> is_heard = false;
  Subscriber subscriber(viewing_of(plan, context.endpoint, is_heard), context.log);
  RowMeter meter(subscriber);
  const auto goes_on = [&] {
    throw_if_interrupted(context.interruption);
    return true;
  };
  const SubscriberStatus end = meter.take_all(goes_on).value();
  if (end.state != SubscriberState::finished) {
    const Error error(end.exit_status, end.message);
    if (subscriber.counts().sessions > 0) {
      throw error;
    }
    if (!is_heard && error.status() == ExitStatus::lost_peer) {
      why = error.what();
      return std::nullopt;
    }
    throw CannotBegin(error);
  }
  RowResult row{.plan = plan, .client = meter.result(), .server = {}};
  subscriber.close(end_result_to_json(row.client));
  if (!meter.sender_result()) {
    throw Error::lost_peer("the bench server ended the row early");
  }
  row.server = *meter.sender_result();
  require_every_message(row);
  return row;
}

}  // namespace

RowResult measure_reverse_row(const RowPlan& plan, const RowContext& context) {
  std::string why;
  constexpr std::chrono::milliseconds between_dials(50);
  for (const std::int64_t give_up_ns = monotonic_ns() + server_timeout_ns; monotonic_ns() < give_up_ns;) {
    throw_if_interrupted(context.interruption);
    if (auto row = try_row(plan, context, why)) {
      return std::move(*row);
    }
    std::this_thread::sleep_for(between_dials);
  }
  throw no_server(*context.endpoint.dial, why);
}

}  // namespace framewire
