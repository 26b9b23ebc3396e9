#include "rdpipe/pipeline.hpp"

#include <algorithm>
#include <array>
#include <csignal>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/wait.hpp"
#include "command/child_process.hpp"
#include "rdpipe/agent_connection.hpp"
#include "rdpipe/hop_state.hpp"
#include "ssh/address_selection.hpp"
#include "ssh/message_fields.hpp"

namespace framewire {

namespace {

using Json = nlohmann::json;

constexpr std::int64_t longest_sleep_ns = ns_per_s / 4;
/// Wait this long for the cause: a neighbour often reports the consequence first.
constexpr std::int64_t settling_ns = 200 * ns_per_ms;
/// Time between asking a process to end and killing it; agents use a shorter one (stage_agent.cpp).
constexpr std::int64_t politeness_ns = 1500 * ns_per_ms;
constexpr std::int64_t kill_again_ns = 100 * ns_per_ms;

/// How reliable a reported fault is as the cause: the highest one is reported.
enum class Blame {
  secondary,  // a side was told of it, or ended by its peer
  loss,       // a side has lost its peer
  silence,    // a host is gone or does not answer
  cause,      // the reporting side itself failed
};

class Pipeline {
 public:
  Pipeline(const PipelineOptions& options, TerminalLog& log)
      : options_(options), log_(log), signals_(take_signals()), hops_(hops_of(options.stages, options.parameters)) {}

  int run();

 private:
  void start();
  void start_here(HopState& hop, const HopPlan& plan, const std::optional<HopTarget>& target);
  void dial_what_listens();
  [[nodiscard]] std::vector<std::string> addresses_for(const HopState& hop);
  const HostAddresses* facts_of(const std::optional<std::size_t>& stage) const;
  void go_when_all_stand();

  void turn();
  void wait();
  void take_signal(int number);
  void hear(AgentConnection& stage);
  void hear(HopState& hop);
  void take_hop_message(const Json& message, const std::optional<std::size_t>& speaker);
  void take_report(HopState& hop, const HopReport& report);
  void check_stages();
  [[nodiscard]] bool has_said_all(const AgentConnection& stage) const;
  void blame(Blame how, const std::string& message);
  void end_what_failed();
  void end_early();
  void kill_rest();
  [[nodiscard]] bool is_over();
  [[nodiscard]] bool any_command_was_killed() const;
  [[nodiscard]] bool reader_closed(std::size_t stage) const;

  void show_progress();
  void say_bandwidths();
  int conclude();

  const PipelineOptions& options_;
  TerminalLog& log_;
  FileDescriptor signals_;
  FileDescriptor interruption_ = watch_for_an_end();
  HostAddresses own_facts_ = own_host_addresses();
  std::vector<std::unique_ptr<AgentConnection>> stages_;
  std::vector<HopState> hops_;
  std::map<std::string, std::string> names_;  // of hosts, by ssh's configuration
  bool has_gone_ = false;
  int interrupted_by_ = 0;
  bool reader_left_ = false;
  std::optional<std::pair<Blame, std::string>> fault_;
  std::int64_t end_at_ns_ = INT64_MAX;   // when to tell the stages, after a fault
  std::int64_t kill_at_ns_ = INT64_MAX;  // set once they have been told
  std::int64_t woken_ns_ = monotonic_ns();
  std::int64_t shown_ns_ = monotonic_ns();
};

int Pipeline::run() {
  try {
    start();
    while (!is_over()) {
      turn();
      dial_what_listens();
      go_when_all_stand();
      show_progress();
    }
  } catch (const Error& error) {
    blame(Blame::cause, error.what());
    end_early();
  }
  return conclude();
}

void Pipeline::turn() {
  wait();
  for (const auto& stage : stages_) {
    hear(*stage);
  }
  for (HopState& hop : hops_) {
    hear(hop);
  }
  check_stages();
  end_what_failed();
}

// ---- Start ----

void Pipeline::start() {
  for (std::size_t i = 0; i < options_.stages.size(); ++i) {
    StagePlan plan{.stage = options_.stages[i], .number = i + 1};
    for (const HopState& hop : hops_) {
      if (hop.to == i) {
        plan.upstream = hop.receiver;
      }
      if (hop.from == i) {
        plan.downstream = hop.sender;
      }
    }
    stages_.push_back(std::make_unique<AgentConnection>(plan, options_.ssh));
  }
  for (HopState& hop : hops_) {
    if (!hop.listener()) {
      start_here(hop, hop.sender.listens ? hop.sender : hop.receiver, {});
    }
  }
}

void Pipeline::start_here(HopState& hop, const HopPlan& plan, const std::optional<HopTarget>& target) {
  hop.here.emplace(plan, HopFile{}, target, "rdpipe");
}

const HostAddresses* Pipeline::facts_of(const std::optional<std::size_t>& stage) const {
  if (!stage || options_.stages[*stage].is_here()) {
    return &own_facts_;
  }
  const auto& facts = stages_[*stage]->facts();
  return facts ? &*facts : nullptr;
}

std::vector<std::string> Pipeline::addresses_for(const HopState& hop) {
  const bool dials_from_here = place(options_.stages, hop.dialler()) == "here";
  const std::string host = place(options_.stages, hop.listener());
  if (host == "here") {
    return {"127.0.0.1"};  // both sides are here
  }
  const auto wanted = options_.data_addresses.find(host);
  std::string name = host.substr(host.rfind('@') + 1);
  if (dials_from_here && wanted == options_.data_addresses.end()) {
    const auto [known, is_new] = names_.try_emplace(host);
    if (is_new) {
      known->second = ssh_host_name(options_.ssh, host, interruption_.get());
    }
    name = known->second;
  }
  const EndpointOptions endpoint = endpoint_of(hop.sender);
  return addresses_of(
      *facts_of(hop.listener()), *facts_of(hop.dialler()),
      {.name = name,
       .is_known_here = dials_from_here,
       .data_address = wanted != options_.data_addresses.end() ? wanted->second : "",
       .may_be_rdma = !endpoint.encrypt && std::ranges::count(endpoint.allowed_links, LinkKind::rdma) > 0});
}

void Pipeline::dial_what_listens() {
  for (HopState& hop : hops_) {
    if (hop.is_dialled || !hop.port || facts_of(hop.dialler()) == nullptr || facts_of(hop.listener()) == nullptr) {
      continue;
    }
    hop.is_dialled = true;
    const HopTarget target{.port = *hop.port, .addresses = addresses_for(hop)};
    if (!hop.dialler()) {
      start_here(hop, hop.dialling_plan(), target);
      continue;
    }
    Json message = to_json(target);
    message["type"] = "dial";
    message["hop"] = hop.sender.number;
    stages_[*hop.dialler()]->say(message);
  }
}

/// Starts the transfer once all connections are established: before that no command runs and no byte is read.
void Pipeline::go_when_all_stand() {
  const auto has_begun = [](const auto& stage) { return stage->facts().has_value(); };
  if (has_gone_ || fault_ || !std::ranges::all_of(hops_, &HopState::is_connected) ||
      !std::ranges::all_of(stages_, has_begun)) {
    return;
  }
  require_other_file(hops_, options_.stages);
  has_gone_ = true;
  for (const auto& stage : stages_) {
    stage->say({{"type", "go"}});
  }
  for (HopState& hop : hops_) {
    if (hop.here && hop.here->plan().sends) {
      hop.here->go();
      hop.here->send_source_result("");  // read errors of standard input are reported by the hop itself
    }
  }
}

// ---- The event loop ----

void Pipeline::wait() {
  std::vector<pollfd> descriptors{{.fd = signals_.get(), .events = POLLIN, .revents = 0}};
  for (const auto& stage : stages_) {
    descriptors.push_back(
        {.fd = stage->lines().has_ended() ? -1 : stage->lines().in(), .events = POLLIN, .revents = 0});
    descriptors.push_back(
        {.fd = stage->lines().wants_write() ? stage->lines().out() : -1, .events = POLLOUT, .revents = 0});
  }
  for (HopState& hop : hops_) {
    const bool speaks = hop.here && !hop.here->report();
    descriptors.push_back({.fd = speaks ? hop.here->status_lines().in() : -1, .events = POLLIN, .revents = 0});
  }
  const std::int64_t now_ns = monotonic_ns();
  const std::int64_t soonest_ns = std::min({now_ns + longest_sleep_ns, end_at_ns_, kill_at_ns_});
  wait_until(descriptors, std::max(soonest_ns, now_ns));
  for (int number = next_signal(signals_.get()); number != 0; number = next_signal(signals_.get())) {
    take_signal(number);
  }
  // Ctrl-Z stops this process at any moment, but not the clock: one reading counts until the next time here.
  const std::int64_t woke_ns = monotonic_ns();
  const std::int64_t slept_ns = woke_ns - std::exchange(woken_ns_, woke_ns);
  for (const auto& stage : stages_) {
    stage->lines().flush();
    if (slept_ns > 4 * longest_sleep_ns) {
      stage->extend_deadline(slept_ns);
    }
  }
}

void Pipeline::take_signal(int number) {
  if (number != SIGCHLD && interrupted_by_ == 0) {
    interrupted_by_ = number;
    end_early();
  }
}

void Pipeline::hear(AgentConnection& stage) {
  stage.lines().receive();
  try {
    for (Json message; stage.lines().next(message);) {
      stage.heard(woken_ns_);
      if (!stage.take(message)) {
        take_hop_message(message, stage.plan().number - 1);
      } else if (text_in(message, "type") == "command_ended") {
        // Had it been the reason, it would have been reported first. A reader that leaves later is no excuse.
        stage.set_reader_closed(reader_closed(stage.plan().number - 1));
      }
    }
    if (!stage.lines().fault().empty()) {
      throw Error::failed(stage.lines().fault());
    }
  } catch (const Error& error) {
    blame(Blame::cause, stage.who() + ": " + error.what());
  }
}

void Pipeline::hear(HopState& hop) {
  if (!hop.here || hop.here->report()) {
    return;
  }
  const bool is_open = hop.here->status_lines().receive();
  try {
    for (Json message; hop.here->status_lines().next(message);) {
      take_hop_message(message, std::nullopt);
    }
  } catch (const Error& error) {
    blame(Blame::cause, error.what());
  }
  if (!is_open && !hop.here->report()) {
    const HopPlan& plan = hop.here->plan();
    take_report(hop,
                {.number = plan.number, .sends = plan.sends, .message = "the process that moved its bytes was killed"});
  }
}

/// `speaker`: the stage that sent it; nothing: one of rdpipe's own sides. A stage may only report on its own hops.
void Pipeline::take_hop_message(const Json& message, const std::optional<std::size_t>& speaker) {
  const std::string type = text_in(message, "type");
  HopState& hop = hops_.at(number_in(message, "hop", hops_.size() - 1));
  const bool says_which = type == "connected" || type == "hop_ended";
  const bool is_own = says_which ? (flag_in(message, "sends") ? hop.from : hop.to) == speaker
                                 : hop.from == speaker || hop.to == speaker;
  if (!is_own) {
    throw Error::failed("it speaks for a stage that is not its own");
  }
  if (type == "listening") {
    hop.port = port_in(message, "port");
  } else if (type == "connected") {
    hop.take_connected(message);
    if (const std::string line = printable_in(message, "start_line"); !line.empty() && options_.is_verbose) {
      log_.info(hop.name + ": " + line);
    }
  } else if (type == "progress") {
    hop.bytes = number_in(message, "bytes");
    hop.bytes_per_s = number_in(message, "bytes_per_s");
  } else if (type == "hop_ended") {
    take_report(hop, hop_report_from(message));
  }
}

void Pipeline::take_report(HopState& hop, const HopReport& report) {
  const std::optional<std::size_t>& stage = report.sends ? hop.from : hop.to;
  if (report.sends) {
    hop.sent = report;
  } else {
    hop.receiver_has_ended = true;
  }
  if (!stage && hop.here) {
    hop.here->set_report(report);
  }
  reader_left_ |= hop.is_last(options_.stages) && !report.sends && report.result == HopResult::reader_left;
  if (report.was_stopped || (!stage && kill_at_ns_ != INT64_MAX)) {
    return;
  }
  // rdpipe's own side has no stage, so the hop's name is used.
  const std::string who = (stage ? stages_[*stage]->who() : hop.name) + ": ";
  switch (report.result) {
    case HopResult::ok:
    case HopResult::reader_left:
      return;
    case HopResult::told:
      return blame(Blame::secondary, who + report.message);
    case HopResult::lost:
      return blame(Blame::loss, who + report.message);
    case HopResult::failed:
      return blame(Blame::cause, who + report.message);
  }
}

void Pipeline::check_stages() {
  for (const auto& stage : stages_) {
    if (stage->has_just_ended()) {
      hear(*stage);
      if (!has_said_all(*stage) && kill_at_ns_ == INT64_MAX) {
        blame(Blame::silence, stage->who() + ": " + stage->why_it_ended());
      }
    }
    if (const std::string note = stage->take_note_of_silence(woken_ns_); !note.empty() && kill_at_ns_ == INT64_MAX) {
      log_.info(stage->who() + ": " + note);
    }
    if (const std::string why = stage->check_liveness(woken_ns_); !why.empty() && kill_at_ns_ == INT64_MAX) {
      blame(Blame::silence, stage->who() + ": " + why);
      stage->kill();
    }
  }
  if (end_at_ns_ == INT64_MAX && any_command_was_killed()) {
    end_at_ns_ = woken_ns_ + settling_ns;
  }
}

/// Whether the stage has reported all that it must: besides "done" the end of its command and of its hops. Without
/// another fault, "done" of a stage that never began does not count.
bool Pipeline::has_said_all(const AgentConnection& stage) const {
  const bool has_worked = stage.outcome().ending || stage.plan().stage.work != StageWork::command;
  const auto knows_end = [&](const HopState& hop) { return hop.has_heard_of(stage.plan().number - 1); };
  return stage.is_done() && (fault_ || (has_gone_ && has_worked && std::ranges::all_of(hops_, knows_end)));
}

bool Pipeline::reader_closed(std::size_t stage) const {
  return std::ranges::any_of(hops_, [stage](const HopState& hop) {
    return hop.from == stage && hop.sent && hop.sent->result == HopResult::reader_left;
  });
}

bool Pipeline::any_command_was_killed() const {
  return std::ranges::any_of(stages_, [](const auto& stage) {
    const StageOutcome& outcome = stage->outcome();
    return outcome.ending && !outcome.was_stopped && outcome.ending->signal != 0 &&
           !(outcome.ending->signal == SIGPIPE && outcome.reader_closed);
  });
}

// ---- The end ----

void Pipeline::blame(Blame how, const std::string& message) {
  if (!fault_ || how > fault_->first) {
    fault_ = {how, message};
  }
  end_at_ns_ = std::min(end_at_ns_, monotonic_ns() + (how == Blame::cause ? 0 : settling_ns));
}

void Pipeline::end_what_failed() {
  const std::int64_t now_ns = monotonic_ns();
  if (now_ns >= end_at_ns_) {
    end_early();
  }
  if (now_ns >= kill_at_ns_) {
    kill_rest();
  }
}

void Pipeline::end_early() {
  end_at_ns_ = INT64_MAX;
  if (kill_at_ns_ != INT64_MAX) {
    return;
  }
  kill_at_ns_ = monotonic_ns() + politeness_ns;
  for (const auto& stage : stages_) {
    stage->stop();
  }
  for (HopState& hop : hops_) {
    if (hop.here) {
      hop.here->stop();
    }
  }
}

void Pipeline::kill_rest() {
  kill_at_ns_ = monotonic_ns() + kill_again_ns;
  for (const auto& stage : stages_) {
    stage->kill();
  }
  for (HopState& hop : hops_) {
    if (hop.here) {
      hop.here->kill();
    }
  }
}

bool Pipeline::is_over() {
  const auto hop_is_over = [](HopState& hop) { return !hop.here || hop.here->has_ended(); };
  const bool stages_are_over = std::ranges::all_of(stages_, &AgentConnection::is_gone,
                                                   [](const auto& stage) -> AgentConnection& { return *stage; });
  const bool hops_are_over = std::ranges::all_of(hops_, hop_is_over);
  const bool all_was_said = kill_at_ns_ != INT64_MAX || std::ranges::all_of(hops_, [](const HopState& hop) {
                              return !hop.here || hop.here->report();
                            });
  return stages_are_over && hops_are_over && all_was_said && end_at_ns_ == INT64_MAX;
}

int Pipeline::conclude() {
  while (!is_over()) {
    turn();
  }
  if (options_.is_verbose) {
    say_bandwidths();
  }
  PipelineOutcome outcome{.stages = {}, .fault = {}, .interrupted_by = interrupted_by_, .reader_left = reader_left_};
  for (const auto& stage : stages_) {
    outcome.stages.push_back(stage->outcome());
  }
  outcome.stages.resize(options_.stages.size());
  // If a command was killed, its neighbours' reports of that are not a second fault.
  if (fault_ && !(fault_->first <= Blame::loss && any_command_was_killed())) {
    outcome.fault = fault_->second;
  }
  const PipelineResult result = pipeline_result_of(options_.stages, outcome);
  for (const std::string& message : result.messages) {
    log_.error(message);
  }
  return result.status;
}

// ---- Output of -v ----

void Pipeline::show_progress() {
  const std::int64_t now_ns = monotonic_ns();
  if (!options_.is_verbose || now_ns - shown_ns_ < ns_per_s) {
    return;
  }
  shown_ns_ = now_ns;
  if (const std::string text = progress_text(hops_); !text.empty()) {
    log_.live(text);
  }
}

void Pipeline::say_bandwidths() {
  log_.end_live();
  for (const std::string& line : bandwidths(hops_)) {
    log_.info(line);
  }
}

}  // namespace

int run_pipeline(const PipelineOptions& options, TerminalLog& log) {
  return Pipeline(options, log).run();
}

}  // namespace framewire
