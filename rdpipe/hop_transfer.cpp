#include "rdpipe/hop_transfer.hpp"

#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/failure_text.hpp"
#include "base/wait.hpp"
#include "bytes/byte_protocol.hpp"
#include "bytes/file_identity.hpp"
#include "bytes/receive_bytes.hpp"
#include "bytes/send_bytes.hpp"
#include "command/interruption.hpp"
#include "command/standard_streams.hpp"
#include "command/terminal_log.hpp"
#include "ssh/address_selection.hpp"
#include "ssh/message_fields.hpp"
#include "transport/json_fields.hpp"

namespace framewire {

namespace {

using Json = nlohmann::json;

constexpr std::int64_t poll_interval_ns = 100 * ns_per_ms;
/// How long to wait for the peer, which rdpipe tells to connect once this side is ready.
constexpr std::int64_t connect_timeout_ns = 10 * ns_per_s;
constexpr char go_order = 'g';
constexpr char source_result_command = 'v';  // followed by the error, if any
constexpr char reader_closed_command = 'l';

// ---- The hop's process ----

/// Runs on the main thread of the forked process.
class HopWorker {
 public:
  HopWorker(const HopPlan& plan, const HopFile& file, const std::optional<HopTarget>& target, TerminalLog& log)
      : plan_(plan), file_(file), target_(target), log_(log), status_lines_({}, FileDescriptor(status_fd)) {}

  int run();

 private:
  void transfer();
  [[nodiscard]] EndpointOptions endpoint() const;
  TransferHooks hooks();
  [[nodiscard]] std::string own_file() const;
  void say(const Json& message);
  void wait_for_go(const StillRunning& still_running);
  std::string receive_source_result(const StillRunning& still_running);
  bool reader_closed();
  bool read_order(std::string& text, const StillRunning& still_running);

  const HopPlan& plan_;
  const HopFile& file_;
  const std::optional<HopTarget>& target_;
  TerminalLog& log_;
  JsonLines status_lines_;  // also used by the thread that reports progress
  std::mutex mutex_;
  Interruption interruption_;
  std::optional<TransferSummary> summary_;
  std::string source_result_;  // as received so far
  bool reader_closed_ = false;
};

int HopWorker::run() {
  HopReport report{.number = plan_.number, .sends = plan_.sends};
  try {
    transfer();
    report.result = HopResult::ok;
  } catch (const ReaderLeft& error) {
    report.result = HopResult::reader_left;
    report.message = error.what();
  } catch (const PeerFailed& error) {
    report.result = HopResult::told;
    report.message = error.what();
  } catch (const Error& error) {
    report.result = error.status() == ExitStatus::lost_peer ? HopResult::lost : HopResult::failed;
    report.message = error.what();
  } catch (const std::exception& error) {  // std::bad_alloc
    report.message = failure_text(error);
  }
  report.summary = summary_;
  set_non_blocking(status_lines_.out(), false);
  say(to_json(report));
  return 0;
}

void HopWorker::transfer() {
  if (plan_.sends) {
    SendBytesOptions options{.endpoint = endpoint(),
                             .input = file_.path,
                             .takes_digest = plan_.parameters.takes_digest,
                             .limit_bytes_per_s = plan_.parameters.limit_bytes_per_s,
                             .slot_bytes = plan_.parameters.slot_bytes,
                             .slots = plan_.parameters.slots,
                             .connect_timeout_ns = plan_.listens ? -1 : connect_timeout_ns,
                             .hooks = hooks()};
    send_bytes(options, interruption_, log_);
    return;
  }
  ReceiveBytesOptions options{.endpoint = endpoint(),
                              .output = file_.path,
                              .appends = file_.appends,
                              .connect_timeout_ns = plan_.listens ? -1 : connect_timeout_ns,
                              .hooks = hooks()};
  receive_bytes(options, interruption_, log_);
}

EndpointOptions HopWorker::endpoint() const {
  EndpointOptions endpoint = endpoint_of(plan_);
  if (target_) {
    endpoint.dial = find_reachable(target_->addresses, target_->port, monotonic_ns() + connect_timeout_ns,
                                   "name an address that can be reached with --data-address HOST=ADDRESS, or open "
                                   "ports with --port-range",
                                   {.fd = interruption_.descriptor()});
  }
  return endpoint;
}

TransferHooks HopWorker::hooks() {
  TransferHooks hooks;
  hooks.listening = [this](std::uint16_t port) { say({{"type", "listening"}, {"hop", plan_.number}, {"port", port}}); };
  hooks.connected = [this](const std::string& start_line, const StillRunning& still_running) {
    say({{"type", "connected"},
         {"hop", plan_.number},
         {"sends", plan_.sends},
         {"start_line", start_line},
         {"file", own_file()}});
    if (plan_.sends) {
      wait_for_go(still_running);
    }
  };
  hooks.reader_closed = [this] { return reader_closed(); };
  hooks.ended = [this](const TransferSummary& summary) { summary_ = summary; };
  if (plan_.sends) {
    hooks.source_result = [this](const StillRunning& still_running) { return receive_source_result(still_running); };
  }
  if (plan_.parameters.tells_progress) {
    hooks.progress = [this](std::uint64_t bytes, double interval_bytes, double interval_s) {
      const auto rate = static_cast<std::uint64_t>(interval_s > 0 ? interval_bytes / interval_s : 0);
      say({{"type", "progress"}, {"hop", plan_.number}, {"bytes", bytes}, {"bytes_per_s", rate}});
    };
  }
  return hooks;
}

/// The identity of the file on this side, if it is one.
std::string HopWorker::own_file() const {
  return file_.path != "-" ? file_identity(file_.path) : file_identity(plan_.sends ? STDIN_FILENO : STDOUT_FILENO);
}

/// The only command for a receiver.
bool HopWorker::reader_closed() {
  char order = 0;
  reader_closed_ = reader_closed_ || (wait_for(control_fd, POLLIN, 0) && ::read(control_fd, &order, 1) == 1 &&
                                      order == reader_closed_command);
  return reader_closed_;
}

void HopWorker::say(const Json& message) {
  const std::scoped_lock lock(mutex_);
  status_lines_.send(message);
}

/// Appends the next bytes of control_fd to `text`. Returns false at its end, and when the transfer is over or
/// interrupted.
bool HopWorker::read_order(std::string& text, const StillRunning& still_running) {
  std::array<char, 512> part{};
  while (still_running() && !interruption_.is_requested()) {
    if (!wait_for(control_fd, POLLIN, monotonic_ns() + poll_interval_ns)) {
      continue;
    }
    const ssize_t got = ::read(control_fd, part.data(), part.size());
    text.append(part.data(), static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
    return got > 0;
  }
  return false;
}

/// Returns without "go" if the transfer is already over, because another stage began earlier and has ended: the
/// transfer then reports that itself.
void HopWorker::wait_for_go(const StillRunning& still_running) {
  while (source_result_.empty() && read_order(source_result_, still_running)) {
  }
  if (!source_result_.empty()) {
    source_result_.erase(0, 1);  // the bytes after it are the source's result
  } else if (still_running() && !interruption_.is_requested()) {
    throw Error::failed("rdpipe is gone");
  }
}

/// Reads the source's result until control_fd ends. If the transfer is over before that because the receiver is gone,
/// the result no longer matters.
std::string HopWorker::receive_source_result(const StillRunning& still_running) {
  while (read_order(source_result_, still_running)) {
  }
  if (interruption_.is_requested()) {
    return "it was ended";
  }
  if (!source_result_.empty()) {
    return source_result_.substr(1);
  }
  return still_running() ? "nobody is left who knows whether that was all" : "";
}

/// Logs only warnings: rdpipe reports success from the hop's messages.
int run_hop(const HopPlan& plan, const HopFile& file, const std::optional<HopTarget>& target, const std::string& who) {
  set_thread_name("rdpipe-hop");
  reserve_standard_fds();
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);
  std::signal(SIGTERM, SIG_DFL);  // the parent uses it to end the hop, even if rdpipe ignores SIGTERM itself
  TerminalLog log(stderr, who, LogLevel::warning);
  return HopWorker(plan, file, target, log).run();
}

}  // namespace

// ---- HopReport ----

Json to_json(const HopReport& report) {
  Json message{{"type", "hop_ended"},        {"hop", report.number},
               {"sends", report.sends},      {"result", static_cast<unsigned>(report.result)},
               {"sentence", report.message}, {"stopped", report.was_stopped}};
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
                   .message = printable_in(message, "sentence")};
  report.was_stopped = flag_in(message, "stopped");
  if (const Json* found = find_object(message, "summary")) {
    const auto seconds_in = [&](const char* field) { return find_number(*found, field).value_or(0); };
    report.summary = {.bytes = number_in(*found, "bytes"),
                      .seconds = seconds_in("seconds"),
                      .transport = printable_in(*found, "transport"),
                      .waits = {.source_s = seconds_in("source_s"),
                                .wire_s = seconds_in("wire_s"),
                                .limit_s = seconds_in("limit_s"),
                                .sink_s = seconds_in("sink_s")}};
  }
  return report;
}

// ---- The parent's handle ----

HopTransfer::HopTransfer(const HopPlan& plan, const HopFile& file, const std::optional<HopTarget>& target,
                         const std::string& who)
    : plan_(plan) {
  PipeEnds control_pipe = make_pipe();
  PipeEnds status_pipe = make_pipe();
  ChildDescriptors descriptors{.control_pipe = control_pipe.reads.get(), .status_pipe = status_pipe.writes.get()};
  if (plan.sends) {
    descriptors.input = file.path == "-" && file.fd < 0 ? STDIN_FILENO : file.fd;
  } else {
    descriptors.output = file.path == "-" && file.fd < 0 ? STDOUT_FILENO : file.fd;
  }
  process_ = ChildProcess::fork_of(descriptors, [&] { return run_hop(plan, file, target, who); });
  control_ = std::move(control_pipe.writes);
  status_lines_ = JsonLines(std::move(status_pipe.reads), {});
}

void HopTransfer::go() noexcept {
  const ssize_t ignored = ::write(control_.get(), &go_order, 1);
  static_cast<void>(ignored);  // the process has ended: its report says so
}

void HopTransfer::close_reader() noexcept {
  const ssize_t ignored = ::write(control_.get(), &reader_closed_command, 1);
  static_cast<void>(ignored);
  stop();
}

void HopTransfer::send_source_result(const std::string& error) noexcept {
  if (!control_.valid()) {
    return;
  }
  const std::string order = source_result_command + error;
  const ssize_t ignored = ::write(control_.get(), order.data(), order.size());
  static_cast<void>(ignored);
  control_.reset();
}

bool HopTransfer::has_ended() noexcept {
  ChildExit ending;
  if (!process_.is_running()) {
    return true;
  }
  if (!process_.has_ended(ending)) {
    return false;
  }
  // Its last messages may still be in the pipe.
  status_lines_.receive();
  return true;
}

}  // namespace framewire
