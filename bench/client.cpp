#include "bench/client.hpp"

#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/wait.hpp"
#include "bench/message_source.hpp"
#include "bench/warm_up.hpp"
#include "transport/address.hpp"
#include "transport/control/dial.hpp"
#include "transport/session/sender_service.hpp"

namespace framewire {

namespace {

constexpr std::int64_t shutdown_timeout_ns = 30 * ns_per_s;

/// Ends the row's stream and session when the interruption comes.
class RowWake {
 public:
  RowWake(Interruption& interruption, Stream& stream, SenderService& service) : interruption_(interruption) {
    interruption_.set_wake([&stream, &service] {
      stream.stop();
      service.interrupt(monotonic_ns() + ns_per_s);
    });
  }
  ~RowWake() { interruption_.set_wake({}); }
  RowWake(const RowWake&) = delete;
  RowWake& operator=(const RowWake&) = delete;

 private:
  Interruption& interruption_;
};

bool does_answer(const HostPort& at, const Interruption& interruption) {
  try {
    dial(at, monotonic_ns() + ns_per_s, DialMode::any, {.fd = interruption.descriptor(), .why = "interrupted"});
    return true;
  } catch (const Error&) {
    return false;
  }
}

/// No session stood before the timeout was over.
[[noreturn]] void throw_nobody_came(const RowContext& context, bool is_rdma) {
  const std::string said = context.last_log_line.last();
  if (is_rdma && !said.empty() && does_answer(*context.endpoint.dial, context.interruption)) {
    throw CannotBegin(Error::lost_peer(said));
  }
  throw no_server(*context.endpoint.dial, said);
}

void wait_for_server(Stream& stream, const SenderService& service, const RowContext& context, bool is_rdma) {
  const std::int64_t give_up_ns = monotonic_ns() + server_timeout_ns;
  while (stream.viewer_count() == 0 && !stream.is_stopping()) {
    throw_if_interrupted(context.interruption);
    if (const std::string refusal = service.refusal(); !refusal.empty()) {
      throw CannotBegin(Error::refused(refusal));
    }
    if (monotonic_ns() >= give_up_ns) {
      throw_nobody_came(context, is_rdma);
    }
    stream.sleep_until(monotonic_ns() + ns_per_ms);
  }
}

/// Why a session ended that had only begun; its own thread is about to say so.
std::string why_it_ended(const SenderService& service, const LastLogLine& last_log_line) {
  for (const std::int64_t give_up_ns = monotonic_ns() + ns_per_s; monotonic_ns() < give_up_ns;) {
    if (const auto reports = service.reports(); !reports.empty()) {
      return reports.front().ending;
    }
    wait_until({}, monotonic_ns() + ns_per_ms);
  }
  return last_log_line.last();
}

/// The session ended before a message had gone: over RDMA its memory may not be had.
void require_warm(bool is_warm, const SenderService& service, const RowContext& context, bool is_rdma) {
  throw_if_interrupted(context.interruption);
  if (!is_warm && is_rdma && does_answer(*context.endpoint.dial, context.interruption)) {
    throw CannotBegin(Error::failed(why_it_ended(service, context.last_log_line)));
  }
}

/// The server's last word. Throws Error: it has said none.
std::string statistics_of(const SenderService& service, const LastLogLine& last_log_line) {
  const auto reports = service.reports();
  if (reports.empty() || reports.front().viewer_statistics.empty()) {
    const std::string said = reports.empty() ? last_log_line.last() : reports.front().ending;
    throw Error::lost_peer(said.empty() ? "the bench server left" : said);
  }
  return reports.front().viewer_statistics;
}

}  // namespace

Error no_server(const HostPort& at, const std::string& why) {
  return Error::lost_peer("no bench server came at " + format_host_port(at) + (why.empty() ? "" : ": " + why) +
                          "; start one there with framewire bench --listen '*:" + std::to_string(at.port) + "'");
}

void throw_if_interrupted(const Interruption& interruption) {
  if (interruption.is_requested()) {
    throw Interrupted();
  }
}

void require_every_message(const RowResult& row) {
  const EndResult& sender = row.plan.is_reverse ? row.server : row.client;
  const EndResult& receiver = row.plan.is_reverse ? row.client : row.server;
  if (receiver.count != sender.count) {
    throw Error::failed(std::string("the ") + (row.plan.is_reverse ? "client" : "server") + " received " +
                        std::to_string(receiver.count) + " of " + std::to_string(sender.count) + " messages");
  }
}

RowResult measure_row(const RowPlan& plan, const RowContext& context) {
  Stream stream(stream_options_of(plan));
  stream.begin_epoch({.layout = bytes_layout(plan.message_bytes), .colour = {}});
  EndpointOptions dialling = context.endpoint;
  const auto kind = link_kind_from_name(plan.transport);
  dialling.allowed_links = {kind.value_or(LinkKind::tcp)};
  context.last_log_line.forget();
  SenderService service(dialling, {&stream}, "framewire-bench " FRAMEWIRE_VERSION, context.log);
  const RowWake wake(context.interruption, stream, service);
  const bool is_rdma = kind == LinkKind::rdma;
  wait_for_server(stream, service, context, is_rdma);
  require_warm(warm_up(stream, plan), service, context, is_rdma);
  RowResult row{.plan = plan, .client = {}, .server = {}};
  const std::int64_t begin_ns = monotonic_ns();
  const std::int64_t cpu_begin_ns = process_cpu_ns();
  row.client = send_messages(stream, plan);
  stream.finish();
  service.drain(monotonic_ns() + shutdown_timeout_ns);
  row.client.seconds = static_cast<double>(monotonic_ns() - begin_ns) / 1e9;
  row.client.cpu_seconds = static_cast<double>(process_cpu_ns() - cpu_begin_ns) / 1e9;
  throw_if_interrupted(context.interruption);
  row.server = end_result_from_json(statistics_of(service, context.last_log_line));
  require_every_message(row);
  return row;
}

}  // namespace framewire
