#include "rdpipe/stage_agent.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/pipe.hpp"
#include "base/wait.hpp"
#include "command/child_process.hpp"
#include "command/standard_streams.hpp"
#include "rdpipe/child_command.hpp"
#include "rdpipe/hop_transfer.hpp"
#include "rdpipe/plan.hpp"
#include "ssh/address_selection.hpp"
#include "ssh/controller_liveness.hpp"
#include "ssh/json_lines.hpp"
#include "ssh/message_fields.hpp"

namespace framewire {

namespace {

using Json = nlohmann::json;

constexpr std::int64_t longest_sleep_ns = ns_per_s / 2;
constexpr std::int64_t controller_check_interval_ns = 3 * ns_per_s;  // rdpipe pings every two
constexpr std::int64_t controller_timeout_ns = 10 * ns_per_s;
/// Time between asking a process to end and killing it (politeness_ns), and between kills. The whole pipeline has two
/// seconds.
constexpr std::int64_t kill_again_ns = 100 * ns_per_ms;
constexpr std::int64_t politeness_ns = 800 * ns_per_ms;

/// The first message must be the complete plan.
constexpr const char* not_understood =
    "what rdpipe said did not arrive there as it was said; does a startup file of the shell there (.bashrc) read "
    "standard input?";

/// Expands "~/file". Any other name is used as it is, even "-": the agent's standard streams belong to rdpipe.
std::string file_name(const std::string& text) {
  const char* home = std::getenv("HOME");
  if (text == "-") {
    return "./-";
  }
  return text.starts_with("~/") && home != nullptr ? home + text.substr(1) : text;
}

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr ? value : "";
}

class StageAgent {
 public:
  explicit StageAgent(AgentPlace place)
      : place_(place),
        signals_(take_signals()),
        control_(FileDescriptor(::dup(STDIN_FILENO)), FileDescriptor(::dup(STDOUT_FILENO))),
        controller_(place == AgentPlace::here ? "" : environment("SSH_CONNECTION")) {}

  int run();

 private:
  void take_signal(int number);
  void take_message(const Json& message);
  void take_plan(const Json& message);
  void start_hop(std::optional<HopTransfer>& hop, const HopPlan& plan, const std::optional<HopTarget>& target);
  void dial(const Json& message);
  void go();
  void hear(std::optional<HopTransfer>& hop);
  void take_report(HopTransfer& hop, HopReport report);
  void check_processes();
  void check_terminal();
  void check_controller();
  void say_how_it_ended(const ChildExit& ending);
  void command_has_ended(const ChildExit& ending);
  void end_early();
  void fail(const std::string& message);
  void wait();
  [[nodiscard]] bool is_over();

  const AgentPlace place_;
  FileDescriptor signals_;
  JsonLines control_;
  ControllerLiveness controller_;
  std::int64_t heard_ns_ = monotonic_ns();
  std::int64_t spoke_ns_ = 0;  // when the last pong without a ping was sent
  bool controller_is_gone_ = false;
  std::optional<StagePlan> plan_;
  PipeEnds to_command_;    // the upstream hop writes, the command reads
  PipeEnds from_command_;  // the command writes, the downstream hop reads
  std::optional<HopTransfer> upstream_;
  std::optional<HopTransfer> downstream_;
  std::optional<ChildCommand> command_;
  bool command_is_due_ = false;  // it has not been started yet
  bool is_connected_ = true;     // to rdpipe
  bool is_ending_ = false;
  std::int64_t kill_at_ns_ = INT64_MAX;
  std::int64_t killed_ns_ = INT64_MAX;  // when the processes were first killed
};

int StageAgent::run() {
  const HostAddresses facts = own_host_addresses();
  // A startup file of the shell may have printed text without a line break.
  static_cast<void>(::write(STDOUT_FILENO, "\n", 1) == 1);
  Json hello = to_json(facts);
  hello.update({{"type", "hello"}, {"protocol", pipeline_protocol}, {"version", FRAMEWIRE_VERSION}});
  control_.send(hello);
  while (!is_over()) {
    wait();
    if (!control_.receive() && std::exchange(is_connected_, false)) {
      end_early();
    }
    try {
      for (Json message; control_.next(message);) {
        take_message(message);
      }
      if (!control_.fault().empty() && !is_ending_) {
        throw Error::failed(not_understood);
      }
    } catch (const Error& error) {
      fail(error.what());
    }
    hear(upstream_);
    hear(downstream_);
    check_processes();
    check_controller();
  }
  if (!controller_is_gone_) {  // else nothing can be written
    control_.send({{"type", "done"}});
    set_non_blocking(STDOUT_FILENO, false);
    control_.flush();
  }
  return 0;
}

bool StageAgent::is_over() {
  const auto has_gone = [](std::optional<HopTransfer>& hop) { return !hop || (hop->report() && hop->has_ended()); };
  const bool is_idle = (!command_ || !command_->is_running()) && has_gone(upstream_) && has_gone(downstream_);
  if (is_ending_) {
    // Killed orphans may have to wait for a slow init to reap them.
    return is_idle && (!command_ || command_->is_all_gone() || monotonic_ns() - killed_ns_ > kill_again_ns);
  }
  const bool hops_are_done = plan_ && (upstream_.has_value() == plan_->upstream.has_value()) &&
                             (downstream_.has_value() == plan_->downstream.has_value());
  return hops_are_done && !command_is_due_ && is_idle;
}

void StageAgent::wait() {
  std::array descriptors{pollfd{.fd = is_connected_ ? control_.in() : -1, .events = POLLIN, .revents = 0},
                         pollfd{.fd = signals_.get(), .events = POLLIN, .revents = 0},
                         pollfd{.fd = upstream_ && !upstream_->report() ? upstream_->status_lines().in() : -1,
                                .events = POLLIN,
                                .revents = 0},
                         pollfd{.fd = downstream_ && !downstream_->report() ? downstream_->status_lines().in() : -1,
                                .events = POLLIN,
                                .revents = 0},
                         pollfd{.fd = control_.wants_write() ? control_.out() : -1, .events = POLLOUT, .revents = 0}};
  const std::int64_t now_ns = monotonic_ns();
  wait_until(descriptors, std::min(now_ns + longest_sleep_ns, std::max(kill_at_ns_, now_ns)));
  control_.flush();
  for (int number = next_signal(signals_.get()); number != 0; number = next_signal(signals_.get())) {
    if (number != SIGCHLD) {
      take_signal(number);
    }
  }
  if (monotonic_ns() >= kill_at_ns_) {
    killed_ns_ = std::min(killed_ns_, monotonic_ns());
    kill_at_ns_ = monotonic_ns() + kill_again_ns;
    if (command_) {
      command_->signal(SIGKILL);
    }
    for (std::optional<HopTransfer>* hop : {&upstream_, &downstream_}) {
      if (*hop) {
        (*hop)->kill();
      }
    }
  }
}

/// On rdpipe's machine the signal is Ctrl-C, which reaches every foreground process; rdpipe itself reports it.
void StageAgent::take_signal(int number) {
  if (place_ == AgentPlace::elsewhere && !is_ending_ && is_connected_) {
    fail("its process there was ended by " + signal_text(number));
  } else {
    end_early();
  }
}

void StageAgent::take_message(const Json& message) {
  heard_ns_ = monotonic_ns();
  const std::string type = text_in(message, "type");
  if (type == "ping" && (plan_ || is_ending_)) {
    control_.send({{"type", "pong"}});
  } else if (type == "stop") {
    end_early();
  } else if (is_ending_) {
    return;
  } else if (type == "plan" && !plan_) {
    take_plan(message);
  } else if (!plan_) {
    throw Error::failed(not_understood);
  } else if (type == "dial") {
    dial(message);
  } else if (type == "go") {
    go();
  }
}

void StageAgent::take_plan(const Json& message) {
  plan_ = stage_plan_from(message);
  command_is_due_ = plan_->stage.work == StageWork::command;
  if (command_is_due_) {
    to_command_ = make_pipe();
    from_command_ = make_pipe();
    enlarge_pipe(to_command_.writes.get());
    enlarge_pipe(from_command_.writes.get());
  }
  if (plan_->upstream && plan_->upstream->listens) {
    start_hop(upstream_, *plan_->upstream, {});
  }
  if (plan_->downstream && plan_->downstream->listens) {
    start_hop(downstream_, *plan_->downstream, {});
  }
}

void StageAgent::start_hop(std::optional<HopTransfer>& hop, const HopPlan& plan,
                           const std::optional<HopTarget>& target) {
  HopFile file{.appends = plan_->stage.appends};
  if (plan_->stage.work == StageWork::command) {
    file.fd = plan.sends ? from_command_.reads.get() : to_command_.writes.get();
  } else {
    file.path = file_name(plan_->stage.text);
  }
  hop.emplace(plan, file, target, "rdpipe, " + describe(plan_->stage, plan_->number));
  if (plan.sends) {
    from_command_.reads.reset();  // the command must get SIGPIPE when the hop no longer reads
  }
}

void StageAgent::dial(const Json& message) {
  const std::uint64_t number = number_in(message, "hop");
  const HopTarget target = hop_target_from(message);
  if (plan_->upstream && plan_->upstream->number == number && !upstream_) {
    start_hop(upstream_, *plan_->upstream, target);
  }
  if (plan_->downstream && plan_->downstream->number == number && !downstream_) {
    start_hop(downstream_, *plan_->downstream, target);
  }
}

/// Starts the command, once all connections of the pipeline are established.
void StageAgent::go() {
  if (downstream_) {
    downstream_->go();
  }
  if (std::exchange(command_is_due_, false)) {
    command_.emplace(plan_->stage.text, to_command_.reads.get(), from_command_.writes.get(), to_command_.writes.get());
    to_command_.reads.reset();
    from_command_.writes.reset();
  } else if (downstream_) {
    downstream_->send_source_result("");  // read errors of a file are reported by the hop itself
  }
}

void StageAgent::hear(std::optional<HopTransfer>& hop) {
  if (!hop || hop->report()) {
    return;
  }
  const bool is_open = hop->status_lines().receive();
  try {
    for (Json message; hop->status_lines().next(message);) {
      if (text_in(message, "type") == "hop_ended") {
        take_report(*hop, hop_report_from(message));
        return;
      }
      control_.send(message);
    }
  } catch (const Error& error) {
    fail(error.what());
  }
  if (!is_open) {
    take_report(*hop, {.number = hop->plan().number,
                       .sends = hop->plan().sends,
                       .result = HopResult::failed,
                       .message = "the process that moved its bytes was killed"});
  }
}

void StageAgent::take_report(HopTransfer& hop, HopReport report) {
  const bool is_well = report.result == HopResult::ok || report.result == HopResult::reader_left;
  report.was_stopped = is_ending_;
  control_.send(to_json(report));
  hop.set_report(std::move(report));
  if (!is_well) {
    end_early();
  } else if (!hop.plan().sends) {
    to_command_.writes.reset();  // the command has all its input, and only now sees the end
    if (command_) {
      command_->input_has_ended();
    }
  }
}

void StageAgent::check_processes() {
  ChildExit ending;
  if (command_ && command_->has_ended(ending)) {
    hear(downstream_);  // the command may have ended because this hop's reader left
    command_has_ended(ending);
  } else if (command_ && !is_ending_) {
    check_terminal();
  }
}

/// Fails if the command was stopped by the terminal: it runs in the background, so it must not read or set the
/// terminal, and nobody would ever continue it.
void StageAgent::check_terminal() {
  const int number = command_->stopped_by();
  if (number == SIGTTIN) {
    fail("its command wants the terminal, which no stage has; put it behind rdpipe: rdpipe … | less");
  } else if (number == SIGTTOU) {
    fail(
        "its command wants to set the terminal or write to it, which no stage can; put it behind rdpipe: rdpipe … | "
        "less");
  }
}

/// rdpipe pings every two seconds. If it does not, it may be stopped (Ctrl-Z): then keep waiting. Or its host has
/// fallen silent: then the pongs sent here stay unacknowledged.
void StageAgent::check_controller() {
  const std::int64_t now_ns = monotonic_ns();
  if (!is_connected_ || now_ns - std::max(heard_ns_, spoke_ns_) < controller_check_interval_ns) {
    return;
  }
  spoke_ns_ = now_ns;
  if (controller_.is_silent(controller_timeout_ns)) {
    is_connected_ = false;
    controller_is_gone_ = true;
    end_early();
  } else if (!control_.wants_write()) {
    control_.send({{"type", "pong"}});
  }
}

void StageAgent::say_how_it_ended(const ChildExit& ending) {
  control_.send({{"type", "command_ended"},
                 {"status", static_cast<unsigned>(ending.status)},
                 {"signal", static_cast<unsigned>(ending.signal)},
                 {"stopped", is_ending_}});
}

void StageAgent::command_has_ended(const ChildExit& ending) {
  say_how_it_ended(ending);
  const bool reader_closed =
      downstream_ && downstream_->report() && downstream_->report()->result == HopResult::reader_left;
  const bool is_killed = ending.signal != 0 && !(ending.signal == SIGPIPE && reader_closed);
  if (downstream_) {
    // The output of a killed command must not look complete to the next stage.
    const std::string who = describe(plan_->stage, plan_->number);
    downstream_->send_source_result(is_killed    ? who + " was ended by " + signal_text(ending.signal)
                                    : is_ending_ ? who + " was ended"
                                                 : "");
  }
  if (upstream_ && !upstream_->report()) {
    upstream_->close_reader();
  }
  if (is_killed && !is_ending_) {
    is_ending_ = true;
    command_->signal(SIGTERM);
    kill_at_ns_ = monotonic_ns() + politeness_ns;  // time for the error to go downstream first
  }
}

void StageAgent::end_early() {
  if (std::exchange(is_ending_, true)) {
    return;
  }
  if (std::exchange(command_is_due_, false)) {
    say_how_it_ended({});  // stopped before it began: a hop may fail before "go" is read here
  }
  if (command_) {
    command_->signal(SIGTERM);
    command_->signal(SIGCONT);
  }
  for (std::optional<HopTransfer>* hop : {&upstream_, &downstream_}) {
    if (*hop) {
      (*hop)->stop();
    }
  }
  kill_at_ns_ = monotonic_ns() + politeness_ns;
}

void StageAgent::fail(const std::string& message) {
  control_.send({{"type", "failed"}, {"sentence", message}});
  end_early();
}

/// bash reads .bashrc if it believes that sshd started it, which it decides by SHLVL (bash(1), "INVOCATION"). Prevent
/// that for the stage's command: what .bashrc prints would become part of the command's output.
void keep_startup_files_out() {
  const std::string level = environment("SHLVL");
  if (level.empty() || level == "0") {
    ::setenv("SHLVL", "1", 1);
  }
}

}  // namespace

int run_stage_agent(AgentPlace place) {
  set_thread_name("rdpipe-stage");
  reserve_standard_fds();
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);
  if (place == AgentPlace::elsewhere) {
    keep_startup_files_out();
  }
  return StageAgent(place).run();
}

}  // namespace framewire
