#include "bench/reverse.hpp"

#include <fmt/format.h>

#include <atomic>
#include <chrono>
#include <cstring>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/failure_text.hpp"
#include "base/log.hpp"
#include "base/wait.hpp"
#include "bench/client.hpp"
#include "bench/link_row.hpp"
#include "bench/protocol.hpp"
#include "transport/session/handshake.hpp"
#include "transport/session/sender_session.hpp"
#include "transport/session/subscriber.hpp"

namespace framewire {

// ---- The client's part ----

namespace {

constexpr const char* program = "framewire-bench " FRAMEWIRE_VERSION;

/// The options of a viewer that gives up at once: measure_reverse_row() decides whether to try again.
SubscriberOptions viewing_of(const RowPlan& plan, const RowContext& context, std::atomic<bool>& is_heard) {
  SubscriberOptions options{.endpoint = context.endpoint, .stream = {}, .delivery = {}};
  options.memory = kinds_besides_host(*context.memory);
  options.endpoint.allowed_links = {link_kind_from_name(plan.transport).value_or(LinkKind::tcp)};
  options.endpoint.may_choose_link = false;
  options.retry_ns = 0;
  options.reconnect = false;
  options.driver = Driver::program;
  options.program = program;
  options.before_hello = [&plan, &is_heard](MessageChannel& channel) {
    exchange_hellos(channel, bench_role, program, {"viewer"});
    is_heard = true;
    request_reverse_row(channel, plan);
  };
  return options;
}

/// Returns nothing when there is no server at the moment; `end` says why.
std::optional<RowResult> try_row(const RowPlan& plan, const RowContext& context, SubscriberStatus& end) {
  std::atomic<bool> is_heard = false;
  Subscriber subscriber(viewing_of(plan, context, is_heard), context.log);
  RowMeter meter(subscriber);
  const auto goes_on = [&] {
    throw_if_interrupted(context.interruption);
    return true;
  };
  end = meter.take_all(goes_on).value();
  if (end.state != SubscriberState::finished) {
    const Error error(end.exit_status, end.message);
    if (subscriber.counts().sessions > 0) {
      throw error;
    }
    if (!is_heard && error.status() == ExitStatus::lost_peer) {
      return std::nullopt;
    }
    throw CannotBegin(error);
  }
  RowResult row{.plan = plan, .client = meter.result(), .server = {}};
  subscriber.close(side_result_to_json(row.client));
  if (!meter.sender_result()) {
    throw Error::lost_peer("the bench server ended the row early");
  }
  row.server = *meter.sender_result();
  require_every_message(row);
  return row;
}

}  // namespace

RowResult measure_reverse_row(const RowPlan& plan, const RowContext& context) {
  SubscriberStatus end;
  constexpr std::chrono::milliseconds between_dials(50);
  for (const std::int64_t give_up_ns = monotonic_ns() + server_timeout_ns; monotonic_ns() < give_up_ns;) {
    throw_if_interrupted(context.interruption);
    if (auto row = try_row(plan, context, end)) {
      return std::move(*row);
    }
    std::this_thread::sleep_for(between_dials);
  }
  throw no_server(*context.endpoint.dial, end.absence, end.message);
}

// ---- The server's part ----

namespace {

/// For what needs no messages, because the row or its error is printed.
class QuietLog final : public Log {
 public:
  void line(LogLevel /*level*/, std::string_view /*text*/) override {}
};

/// The session of a row, on a thread of its own. The stream and the acceptor outlive it.
class RowSession {
 public:
  RowSession(Stream& stream, AuthenticatedChannel client, SessionAcceptor& acceptor, const EndpointOptions& endpoint)
      : stream_(stream), context_(endpoint, {&stream}, "framewire-bench " FRAMEWIRE_VERSION, log_) {
    session_.emplace(context_, std::move(client), DataConnector{.acceptor = &acceptor});
    thread_ = std::thread([this] { run(); });
  }
  /// After a failure the client must not wait for the row's end.
  ~RowSession() {
    context_.stop_at_ns = monotonic_ns();
    stream_.finish();
    join();
  }
  RowSession(const RowSession&) = delete;
  RowSession& operator=(const RowSession&) = delete;

  [[nodiscard]] bool is_over() const noexcept { return is_over_.load(); }

  /// Waits until the session has ended, and returns the name of its link. Throws Error when the row ended early.
  const std::string& finish() {
    join();
    if (error_) {
      throw Error(*error_);
    }
    if (!report_.bye_received) {
      throw Error::lost_peer(report_.ending);
    }
    return report_.transport;
  }

 private:
  void run() noexcept {
    set_thread_name("fw-session");
    try {
      report_ = session_->run();
    } catch (const Error& error) {
      error_ = error;
    } catch (const std::exception& error) {  // no memory
      error_ = Error::failed(failure_text(error));
    }
    session_.reset();  // the stream no longer has its subscriber queue
    is_over_ = true;
  }
  void join() {
    if (thread_.joinable()) {
      thread_.join();
    }
  }

  Stream& stream_;
  QuietLog log_;
  SenderContext context_;
  std::optional<SenderSession> session_;
  SessionReport report_;  // the thread's until is_over_; so is error_
  std::optional<Error> error_;
  std::atomic<bool> is_over_ = false;
  std::thread thread_;
};

/// False when the session ended before the viewer was ready.
bool wait_for_viewer(Stream& stream, const RowSession& session) {
  while (stream.viewer_count() == 0) {
    if (session.is_over()) {
      return false;
    }
    stream.sleep_until(monotonic_ns() + ns_per_ms);
  }
  return true;
}

/// In a frame of its own, because a message of the row may be too short. The sender does not know when the last message
/// arrives.
void publish_result(Stream& stream, SideResult result) {
  result.seconds = 0;
  const std::string text = side_result_to_json(result);
  stream.begin_epoch({.layout = bytes_layout(text.size()), .colour = {}});
  if (auto slot = stream.claim()) {
    std::memcpy(slot->bytes().data(), text.data(), text.size());
    stream.publish(std::move(*slot), {.user_tag = bench_tag_result, .layout = {}});
  }
}

void print_row(const RowPlan& plan, const SideResult& result) {
  const double gigabytes = gigabytes_of(result.count, plan.message_bytes);
  print_line(fmt::format("sent   {:>9} messages of {} bytes {}", result.count, plan.message_bytes,
                         speed_text(result, gigabytes)));
}

}  // namespace

void serve_reverse_row(const nlohmann::json& request, AuthenticatedChannel& client, SessionAcceptor& acceptor,
                       const EndpointOptions& endpoint, const MemoryKind& memory, bool prints) {
  const RowPlan plan = read_reverse_message(request);
  Stream stream(stream_options_of(plan, memory));
  stream.begin_epoch({.layout = bytes_layout(plan.message_bytes), .colour = {}});
  client.channel->send(reverse_answer());
  RowSession session(stream, std::move(client), acceptor, endpoint);
  SideResult result;
  if (wait_for_viewer(stream, session)) {
    warm_up(stream, plan);
    result = send_messages(stream, plan);
    publish_result(stream, result);
  }
  stream.finish();
  result.transport = session.finish();
  if (prints) {
    print_row(plan, result);
  }
}

}  // namespace framewire
