#include "bench/client.hpp"

#include <poll.h>
#include <sys/socket.h>
#include <sys/types.h>

#include <cerrno>
#include <chrono>
#include <nlohmann/json.hpp>
#include <string_view>
#include <thread>
#include <utility>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/text.hpp"
#include "base/wait.hpp"
#include "bench/link_row.hpp"
#include "bench/protocol.hpp"
#include "transport/address.hpp"
#include "transport/control/dial.hpp"
#include "transport/session/endpoint.hpp"
#include "transport/session/handshake.hpp"
#include "transport/session/messages.hpp"
#include "transport/session/sender_service.hpp"
#include "transport/socket_state.hpp"

namespace framewire {

// ---- The log's last line ----

void LastLogLine::line(LogLevel level, std::string_view text) {
  if (to_ != nullptr) {
    to_->line(level, text);
  } else if (level == LogLevel::detail) {
    return;
  }
  const std::scoped_lock lock(mutex_);
  last_ = printable_lines(text.substr(text.find_last_of('\n') + 1));
}

std::string LastLogLine::last() const {
  const std::scoped_lock lock(mutex_);
  return last_;
}

void LastLogLine::forget() {
  const std::scoped_lock lock(mutex_);
  last_.clear();
}

// ---- Measuring a link's row ----

namespace {

constexpr std::int64_t shutdown_timeout_ns = 30 * ns_per_s;

/// An interruption ends the row's stream and session.
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

/// No session began before the timeout.
[[noreturn]] void throw_nobody_came(const SenderService& service, const RowContext& context, bool may_prove_unusable) {
  const std::string said = context.log.last();
  if (may_prove_unusable && !said.empty() && does_answer(*context.endpoint.dial, context.interruption)) {
    throw CannotBegin(Error::lost_peer(said));
  }
  throw no_server(*context.endpoint.dial, service.last_dial_failure().absence, said);
}

void wait_for_server(Stream& stream, const SenderService& service, const RowContext& context, bool may_prove_unusable) {
  const std::int64_t give_up_ns = monotonic_ns() + server_timeout_ns;
  while (stream.viewer_count() == 0 && !stream.is_stopping()) {
    throw_if_interrupted(context.interruption);
    if (const std::string refusal = service.refusal(); !refusal.empty()) {
      throw CannotBegin(Error::refused(refusal));
    }
    if (monotonic_ns() >= give_up_ns) {
      throw_nobody_came(service, context, may_prove_unusable);
    }
    stream.sleep_until(monotonic_ns() + ns_per_ms);
  }
}

/// The reason why a session ended early; its thread is about to report it.
std::string why_it_ended(const SenderService& service, const LastLogLine& log) {
  for (const std::int64_t give_up_ns = monotonic_ns() + ns_per_s; monotonic_ns() < give_up_ns;) {
    if (const auto reports = service.reports(); !reports.empty()) {
      return reports.front().ending;
    }
    wait_until({}, monotonic_ns() + ns_per_ms);
  }
  return log.last();
}

/// Throws when the session ended before the first message. The server may have failed to set up the link's memory
/// (rdma: to register it).
void require_warm(bool is_warm, const SenderService& service, const RowContext& context, bool may_prove_unusable) {
  throw_if_interrupted(context.interruption);
  if (!is_warm && may_prove_unusable && does_answer(*context.endpoint.dial, context.interruption)) {
    throw CannotBegin(Error::failed(why_it_ended(service, context.log)));
  }
}

/// The server's result, from its last message. Throws Error when there was none.
std::string statistics_of(const SenderService& service, const LastLogLine& log) {
  const auto reports = service.reports();
  if (reports.empty() || reports.front().viewer_statistics.empty()) {
    const std::string said = reports.empty() ? log.last() : reports.front().ending;
    throw Error::lost_peer(said.empty() ? "the bench server left" : said);
  }
  return reports.front().viewer_statistics;
}

}  // namespace

Error no_server(const HostPort& at, PeerAbsence absence, const std::string& why) {
  // dial() says so, too, with advice that is not the bench's.
  const bool nothing_listens = absence == PeerAbsence::nothing_listens;
  if (!why.empty() && !nothing_listens) {
    return Error::lost_peer("no bench server came: " + why);
  }
  return Error::lost_peer((nothing_listens ? "nothing listens at " : "no bench server came at ") +
                          format_host_port(at) +
                          "; start a server there with framewire bench --listen '*:" + std::to_string(at.port) + "'");
}

void throw_if_interrupted(const Interruption& interruption) {
  if (interruption.is_requested()) {
    throw Interrupted();
  }
}

void require_every_message(const RowResult& row) {
  const SideResult& sender = row.plan.is_reverse ? row.server : row.client;
  const SideResult& receiver = row.plan.is_reverse ? row.client : row.server;
  if (receiver.count != sender.count) {
    throw Error::failed(std::string("the ") + (row.plan.is_reverse ? "client" : "server") + " received " +
                        std::to_string(receiver.count) + " of " + std::to_string(sender.count) + " messages");
  }
}

RowResult measure_row(const RowPlan& plan, const RowContext& context) {
  Stream stream(stream_options_of(plan, *context.memory));
  stream.begin_epoch({.layout = bytes_layout(plan.message_bytes), .colour = {}});
  EndpointOptions dialling = context.endpoint;
  const LinkKind kind = link_kind_from_name(plan.transport).value_or(LinkKind::tcp);
  dialling.allowed_links = {kind};
  context.log.forget();
  SenderService service(dialling, {&stream}, "framewire-bench " FRAMEWIRE_VERSION, context.log);
  const RowWake wake(context.interruption, stream, service);
  const bool may_prove_unusable = traits(kind).may_prove_unusable;
  wait_for_server(stream, service, context, may_prove_unusable);
  require_warm(warm_up(stream, plan), service, context, may_prove_unusable);
  RowResult row{.plan = plan, .client = {}, .server = {}};
  const std::int64_t begin_ns = monotonic_ns();
  const std::int64_t cpu_begin_ns = process_cpu_ns();
  row.client = send_messages(stream, plan);
  stream.finish();
  service.drain(monotonic_ns() + shutdown_timeout_ns);
  row.client.seconds = static_cast<double>(monotonic_ns() - begin_ns) / 1e9;
  row.client.cpu_seconds = static_cast<double>(process_cpu_ns() - cpu_begin_ns) / 1e9;
  throw_if_interrupted(context.interruption);
  row.server = side_result_from_json(statistics_of(service, context.log));
  require_every_message(row);
  return row;
}

// ---- The connection to the server of a row without a session ----

namespace {

constexpr std::int64_t answer_timeout_ns = 20 * ns_per_s;

/// An interruption ends the wait for the server's answer to the hello.
class GreetingWake {
 public:
  GreetingWake(Interruption& interruption, int connection)
      : interruption_(interruption), connection_(duplicate(connection)) {
    interruption_.set_wake([this] { ::shutdown(connection_.get(), SHUT_RDWR); });
  }
  ~GreetingWake() { interruption_.set_wake({}); }
  GreetingWake(const GreetingWake&) = delete;
  GreetingWake& operator=(const GreetingWake&) = delete;

 private:
  Interruption& interruption_;
  FileDescriptor connection_;
};

ServerConnection greet(const RowContext& context, std::int64_t deadline_ns) {
  const EndpointOptions& endpoint = context.endpoint;
  DialledSocket dialled =
      dial(*endpoint.dial, deadline_ns, DialMode::any, {.fd = context.interruption.descriptor(), .why = "interrupted"},
           endpoint.type_of_service);
  const GreetingWake wake(context.interruption, dialled.fd.get());
  HostPort data_address = reached(dialled, *endpoint.dial);
  ServerConnection server{authenticate_dialler(std::move(dialled), authentication_of(endpoint)),
                          std::move(data_address), &context};
  exchange_hellos(server.channel(), bench_role, "framewire-bench " FRAMEWIRE_VERSION, {"viewer"});
  watch_peer(server.channel().fd(), endpoint.peer_timeout_ns);
  return server;
}

}  // namespace

nlohmann::json ServerConnection::receive() const {
  constexpr std::int64_t poll_interval_ns = 200 * ns_per_ms;
  for (const std::int64_t deadline_ns = monotonic_ns() + answer_timeout_ns; monotonic_ns() < deadline_ns;) {
    throw_if_interrupted(context->interruption);
    if (auto message = channel().try_receive()) {
      return std::move(*message);
    }
    wait_for(channel().fd(), POLLIN, monotonic_ns() + poll_interval_ns);
  }
  throw Error::lost_peer("the bench server has not answered within " + std::to_string(answer_timeout_ns / ns_per_s) +
                         " s");
}

std::optional<nlohmann::json> ServerConnection::poll() const {
  throw_if_interrupted(context->interruption);
  auto message = channel().try_receive();
  if (message) {
    throw_if_fault(*message);
  } else if (tcp_peer_is_silent(channel().fd(), context->endpoint.peer_timeout_ns)) {
    throw Error::lost_peer("the bench server's host does not answer");
  }
  return message;
}

void ServerConnection::poll_control() const {
  if (const auto message = poll()) {
    throw Error::failed("the bench server said " + message_type(*message) + " in the middle of a row");
  }
}

void ServerConnection::throw_if_told_why() const {
  constexpr std::int64_t final_message_timeout_ns = ns_per_s / 2;
  nlohmann::json last;
  try {
    last = channel().receive(monotonic_ns() + final_message_timeout_ns);
  } catch (const Error&) {
    return;  // no message, or the server is gone
  }
  throw_if_fault(last);
}

void ServerConnection::finish() const {
  channel().finish(monotonic_ns() + answer_timeout_ns);
}

ServerConnection connect_to_server(const RowContext& context) {
  constexpr std::chrono::milliseconds between_dials(50);
  for (const std::int64_t give_up_ns = monotonic_ns() + server_timeout_ns;;) {
    throw_if_interrupted(context.interruption);
    try {
      return greet(context, give_up_ns);
    } catch (const Error& error) {
      if (error.status() != ExitStatus::lost_peer) {
        throw;
      }
      if (monotonic_ns() >= give_up_ns) {
        throw no_server(*context.endpoint.dial, absence_in(error), error.what());
      }
    }
    std::this_thread::sleep_for(between_dials);
  }
}

// ---- The results of all rows ----

namespace {

/// Whether a server may be without this transport, though it is there.
bool may_lack(const std::string& transport) {
  const auto kind = link_kind_from_name(transport);
  return transport == verbs_transport || transport == xdp_transport || transport == udp_transport ||
         (kind && (traits(*kind).may_prove_unusable || !traits(*kind).missing.empty()));
}

/// Whether what hinders the one hinders the other.
bool is_alike(const RowPlan& a, const RowPlan& b) {
  return a.transport == b.transport && a.mode == b.mode && a.is_over_veth == b.is_over_veth;
}

std::string kind_of(const RowPlan& plan) {
  return plan.transport + (plan.transport == xdp_transport ? " " + std::string(name(plan.mode)) : "") +
         (plan.is_over_veth ? " over veth" : "");
}

std::string describe(const RowPlan& plan) {
  return name_of(plan) + " " + plan.operation + " of " + std::to_string(plan.message_bytes) + " bytes";
}

}  // namespace

Results::Results(std::vector<RowPlan> plans, bool may_leave_out)
    : plans_(std::move(plans)),
      may_leave_out_(may_leave_out),
      results_of_plans_(plans_.size()),
      is_left_out_(plans_.size(), false) {}

void Results::leave_out(std::size_t plan, const CannotBegin& why) {
  const std::string& transport = plans_[plan].transport;
  // For plain sockets, lost_peer means that there is no server at all.
  const bool is_lacking = may_lack(transport) || plans_[plan].is_over_veth ||
                          (transport == socket_transport && why.status() != ExitStatus::lost_peer);
  if ((!may_leave_out_ && !plans_[plan].is_optional) || !is_lacking) {
    throw CannotBegin(why);
  }
  const bool is_there_none = why.status() == ExitStatus::refused || why.status() == ExitStatus::lost_peer;
  if (!is_there_none) {
    is_left_out_[plan] = true;
    omissions_.push_back(describe(plans_[plan]) + " is left out: " + why.what());
    status_ = ExitStatus::failed;
    return;
  }
  for (std::size_t i = 0; i < plans_.size(); ++i) {
    is_left_out_[i] = is_left_out_[i] || is_alike(plans_[i], plans_[plan]);
  }
  const std::string reason = std::string(": ") + why.what();
  if (!omissions_.empty() && omissions_.back().ends_with(reason)) {
    omissions_.back().insert(omissions_.back().size() - reason.size(), ", " + kind_of(plans_[plan]));
    return;
  }
  omissions_.push_back("rows are left out from " + describe(plans_[plan]) + " on, there is no " +
                       kind_of(plans_[plan]) + reason);
}

std::vector<RowResult> Results::rows() const {
  std::vector<RowResult> rows;
  for (const auto& of_plan : results_of_plans_) {
    if (!of_plan.empty()) {
      rows.push_back(median_row(of_plan));
    }
  }
  return rows;
}

}  // namespace framewire
