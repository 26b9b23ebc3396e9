// A stage's agent as rdpipe sees it: a process (ssh, or rdpipe itself) and what has been heard from it.
#pragma once

#include <csignal>
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "rdpipe/address_selection.hpp"
#include "rdpipe/child_process.hpp"
#include "rdpipe/json_lines.hpp"
#include "rdpipe/pipeline_result.hpp"
#include "rdpipe/plan.hpp"
#include "rdpipe/ssh.hpp"

namespace framewire {

/// One thread.
class AgentConnection {
 public:
  /// Starts the agent and tells it its plan. Throws Error.
  AgentConnection(const StagePlan& plan, const SshOptions& ssh);

  [[nodiscard]] JsonLines& lines() noexcept { return lines_; }
  [[nodiscard]] const StagePlan& plan() const noexcept { return plan_; }
  [[nodiscard]] std::string who() const { return describe(plan_.stage, plan_.number); }

  /// Takes the messages that are about the agent and its command; the others are for the pipeline. Throws Error.
  bool take(const nlohmann::json& message);

  /// Empty until the agent has said hello.
  [[nodiscard]] const std::optional<HostAddresses>& facts() const noexcept { return facts_; }
  [[nodiscard]] const StageEnd& end() const noexcept { return end_; }
  /// Its stage is over, and nothing of it is left.
  [[nodiscard]] bool is_done() const noexcept { return is_done_; }
  /// Nothing more will be heard.
  [[nodiscard]] bool is_gone() const noexcept { return !process_.is_running(); }

  /// Once, when an ssh has not led to a hello for long, which may have its reasons: what a person should know; else
  /// empty.
  std::string take_note_of_silence(std::int64_t now_ns);
  /// Asks it to say something now and then; a sentence when it has not for too long, else empty.
  std::string check_liveness(std::int64_t now_ns);
  void heard(std::int64_t now_ns) noexcept { heard_ns_ = now_ns; }
  /// This process has slept itself, so the others' silence means nothing.
  void extend_deadline(std::int64_t slept_ns) noexcept { heard_ns_ += slept_ns; }

  /// True once, when its process has ended; what it said last may still stand in lines().
  bool has_just_ended();
  /// The sentence for one that ended before it was done.
  [[nodiscard]] std::string why_it_ended() const;
  void stop();
  void kill() noexcept { process_.signal(SIGKILL); }

 private:
  static bool waits_for_reader() noexcept;

  StagePlan plan_;
  ChildProcess process_;
  JsonLines lines_;
  std::optional<HostAddresses> facts_;
  StageEnd end_;
  ChildExit process_exit_;
  bool is_done_ = false;
  bool has_noted_silence_ = false;
  std::int64_t done_ns_ = 0;
  std::int64_t heard_ns_ = 0;
  std::int64_t pinged_ns_ = 0;
};

}  // namespace framewire
