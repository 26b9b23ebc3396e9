#include "pipe/hop.hpp"

#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/log.hpp"
#include "base/wait.hpp"
#include "command/interruption.hpp"
#include "command/standard_streams.hpp"
#include "pipe/byte_convention.hpp"
#include "pipe/file_identity.hpp"
#include "pipe/reach.hpp"
#include "pipe/receive_bytes.hpp"
#include "pipe/send_bytes.hpp"
#include "transport/control/json_fields.hpp"

namespace framewire {

namespace {

using Json = nlohmann::json;

constexpr std::int64_t look_again_ns = 100 * ns_per_ms;
/// For the other end, which is told to come when this one is there.
constexpr std::int64_t patience_ns = 10 * ns_per_s;
constexpr char go_order = 'g';
constexpr char verdict_order = 'v';  // the error, if any, comes behind it
constexpr char let_go_order = 'l';

// ---- The process itself ----

/// Runs in the forked process, on its main thread.
class HopProcess {
 public:
  HopProcess(const HopPlan& plan, const HopEnd& end, const std::optional<HopTarget>& target, Log& log)
      : plan_(plan), end_(end), target_(target), log_(log), reports_({}, FileDescriptor(reports_fd)) {}

  int run();

 private:
  void transfer();
  [[nodiscard]] EndpointOptions endpoint() const;
  TransferHooks hooks();
  [[nodiscard]] std::string own_file() const;
  void say(const Json& message);
  void wait_for_go(const GoesOn& goes_on);
  std::string hear_verdict(const GoesOn& goes_on);
  bool is_let_go();
  bool read_order(std::string& text, const GoesOn& goes_on);

  const HopPlan& plan_;
  const HopEnd& end_;
  const std::optional<HopTarget>& target_;
  Log& log_;
  JsonLines reports_;  // progress is said by a thread of its own
  std::mutex mutex_;
  Interruption interruption_;
  std::optional<TransferSummary> summary_;
  std::string verdict_;  // what has been heard of it
  bool is_let_go_ = false;
};

int HopProcess::run() {
  HopReport report{.number = plan_.number, .sends = plan_.sends};
  try {
    transfer();
    report.result = HopResult::ok;
  } catch (const ReaderLeft& error) {
    report.result = HopResult::reader_left;
    report.sentence = error.what();
  } catch (const PeerFailed& error) {
    report.result = HopResult::told;
    report.sentence = error.what();
  } catch (const Error& error) {
    report.result = error.status() == ExitStatus::lost_peer ? HopResult::lost : HopResult::failed;
    report.sentence = error.what();
  } catch (const std::exception& error) {  // no memory
    report.sentence = error.what();
  }
  report.summary = summary_;
  set_non_blocking(reports_.out(), false);
  say(to_json(report));
  return 0;
}

void HopProcess::transfer() {
  if (plan_.sends) {
    SendBytesOptions options{.endpoint = endpoint(),
                             .input = end_.path,
                             .takes_digest = plan_.terms.takes_digest,
                             .limit_bytes_per_s = plan_.terms.limit_bytes_per_s,
                             .slot_bytes = plan_.terms.slot_bytes,
                             .slots = plan_.terms.slots,
                             .patience_ns = plan_.listens ? -1 : patience_ns,
                             .hooks = hooks()};
    send_bytes(options, interruption_, log_);
    return;
  }
  ReceiveBytesOptions options{.endpoint = endpoint(),
                              .output = end_.path,
                              .appends = end_.appends,
                              .patience_ns = plan_.listens ? -1 : patience_ns,
                              .hooks = hooks()};
  receive_bytes(options, interruption_, log_);
}

EndpointOptions HopProcess::endpoint() const {
  EndpointOptions endpoint = endpoint_of(plan_);
  if (target_) {
    endpoint.dial = reach(*target_, monotonic_ns() + patience_ns);
  }
  return endpoint;
}

TransferHooks HopProcess::hooks() {
  TransferHooks hooks;
  hooks.listening = [this](std::uint16_t port) { say({{"type", "listening"}, {"hop", plan_.number}, {"port", port}}); };
  hooks.connected = [this](const std::string& start_line, const GoesOn& goes_on) {
    say({{"type", "connected"},
         {"hop", plan_.number},
         {"sends", plan_.sends},
         {"start_line", start_line},
         {"file", own_file()}});
    if (plan_.sends) {
      wait_for_go(goes_on);
    }
  };
  hooks.is_let_go = [this] { return is_let_go(); };
  hooks.ended = [this](const TransferSummary& summary) { summary_ = summary; };
  if (plan_.sends) {
    hooks.source_verdict = [this](const GoesOn& goes_on) { return hear_verdict(goes_on); };
  }
  if (plan_.terms.tells_progress) {
    hooks.progress = [this](std::uint64_t bytes, double interval_bytes, double interval_s) {
      const auto rate = static_cast<std::uint64_t>(interval_s > 0 ? interval_bytes / interval_s : 0);
      say({{"type", "progress"}, {"hop", plan_.number}, {"bytes", bytes}, {"bytes_per_s", rate}});
    };
  }
  return hooks;
}

/// The identity of the file at this end, if it is one.
std::string HopProcess::own_file() const {
  return end_.path != "-" ? file_identity(end_.path) : file_identity(plan_.sends ? STDIN_FILENO : STDOUT_FILENO);
}

/// A receiver hears of nothing else.
bool HopProcess::is_let_go() {
  char order = 0;
  is_let_go_ =
      is_let_go_ || (wait_for(orders_fd, POLLIN, 0) && ::read(orders_fd, &order, 1) == 1 && order == let_go_order);
  return is_let_go_;
}

void HopProcess::say(const Json& message) {
  const std::scoped_lock lock(mutex_);
  reports_.send(message);
}

/// False when there is nothing to be heard any more, or to be waited for.
bool HopProcess::read_order(std::string& text, const GoesOn& goes_on) {
  std::array<char, 512> part{};
  while (goes_on() && !interruption_.is_requested()) {
    if (!wait_for(orders_fd, POLLIN, monotonic_ns() + look_again_ns)) {
      continue;
    }
    const ssize_t got = ::read(orders_fd, part.data(), part.size());
    text.append(part.data(), static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
    return got > 0;
  }
  return false;
}

/// Another stage may have begun earlier, and ended already: then the transfer is over, and says so itself.
void HopProcess::wait_for_go(const GoesOn& goes_on) {
  while (verdict_.empty() && read_order(verdict_, goes_on)) {
  }
  if (!verdict_.empty()) {
    verdict_.erase(0, 1);  // what came behind it is of the verdict
  } else if (goes_on() && !interruption_.is_requested()) {
    throw Error::failed("rdpipe is gone");
  }
}

/// The order's end is the verdict's. Where the transfer is over before that, the receiver being gone, nobody will be
/// told of it, and no end be said.
std::string HopProcess::hear_verdict(const GoesOn& goes_on) {
  while (read_order(verdict_, goes_on)) {
  }
  if (interruption_.is_requested()) {
    return "it was ended";
  }
  if (!verdict_.empty()) {
    return verdict_.substr(1);
  }
  return goes_on() ? "nobody is left who knows whether that was all" : "";
}

/// What it does well rdpipe says from the reports.
int run_hop(const HopPlan& plan, const HopEnd& end, const std::optional<HopTarget>& target, const std::string& who) {
  name_this_thread("rdpipe-hop");
  hold_standard_streams();
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);
  std::signal(SIGTERM, SIG_DFL);  // an order of the parent's, also where rdpipe is to ignore it
  Log log(stderr, who, LogLevel::warning);
  return HopProcess(plan, end, target, log).run();
}

}  // namespace

// ---- Its report ----

Json to_json(const HopReport& report) {
  Json message{{"type", "hop_ended"},         {"hop", report.number},
               {"sends", report.sends},       {"result", static_cast<unsigned>(report.result)},
               {"sentence", report.sentence}, {"stopped", report.was_stopped}};
  if (report.summary) {
    message["summary"] = {{"bytes", report.summary->bytes},         {"seconds", report.summary->seconds},
                          {"transport", report.summary->transport}, {"source_s", report.summary->waits.source_s},
                          {"wire_s", report.summary->waits.wire_s}, {"limit_s", report.summary->waits.limit_s},
                          {"sink_s", report.summary->waits.sink_s}};
  }
  return message;
}

HopReport hop_report_from(const Json& message) {
  const auto result = number_in(message, "result", static_cast<unsigned>(HopResult::failed));
  HopReport report{.number = number_in(message, "hop", 1000),
                   .sends = flag_in(message, "sends"),
                   .result = static_cast<HopResult>(result),
                   .sentence = sentence_in(message, "sentence")};
  report.was_stopped = flag_in(message, "stopped");
  if (const Json* found = find_object(message, "summary")) {
    const auto seconds_in = [&](const char* field) { return find_number(*found, field).value_or(0); };
    report.summary = {.bytes = number_in(*found, "bytes"),
                      .seconds = seconds_in("seconds"),
                      .transport = text_in(*found, "transport"),
                      .waits = {.source_s = seconds_in("source_s"),
                                .wire_s = seconds_in("wire_s"),
                                .limit_s = seconds_in("limit_s"),
                                .sink_s = seconds_in("sink_s")}};
  }
  return report;
}

// ---- As its parent sees it ----

Hop::Hop(const HopPlan& plan, const HopEnd& end, const std::optional<HopTarget>& target, const std::string& who)
    : plan_(plan) {
  PipeEnds orders = make_pipe();
  PipeEnds reports = make_pipe();
  ChildDescriptors descriptors{.orders = orders.reads.get(), .reports = reports.writes.get()};
  if (plan.sends) {
    descriptors.input = end.path == "-" && end.fd < 0 ? STDIN_FILENO : end.fd;
  } else {
    descriptors.output = end.path == "-" && end.fd < 0 ? STDOUT_FILENO : end.fd;
  }
  process_ = ChildProcess::fork_of(descriptors, [&] { return run_hop(plan, end, target, who); });
  orders_ = std::move(orders.writes);
  reports_ = JsonLines(std::move(reports.reads), {});
}

void Hop::go() noexcept {
  const ssize_t ignored = ::write(orders_.get(), &go_order, 1);
  static_cast<void>(ignored);  // it has ended: its report says so
}

void Hop::let_go() noexcept {
  const ssize_t ignored = ::write(orders_.get(), &let_go_order, 1);
  static_cast<void>(ignored);
  stop();
}

void Hop::tell_verdict(const std::string& error) noexcept {
  if (!orders_.valid()) {
    return;
  }
  const std::string order = verdict_order + error;
  const ssize_t ignored = ::write(orders_.get(), order.data(), order.size());
  static_cast<void>(ignored);
  orders_.reset();
}

bool Hop::has_ended() noexcept {
  Ending ending;
  if (!process_.is_running()) {
    return true;
  }
  if (!process_.has_ended(ending)) {
    return false;
  }
  // What it said last may still stand in the pipe.
  reports_.receive();
  return true;
}

}  // namespace framewire
