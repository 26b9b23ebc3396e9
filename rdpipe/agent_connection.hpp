// rdpipe's side of a stage agent: its process (ssh, or rdpipe itself) and what it has reported.
#pragma once

#include <csignal>
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "command/child_process.hpp"
#include "rdpipe/pipeline_result.hpp"
#include "rdpipe/plan.hpp"
#include "ssh/address_selection.hpp"
#include "ssh/json_lines.hpp"
#include "ssh/ssh_command.hpp"

namespace framewire {

/// One thread.
class AgentConnection {
 public:
  /// Starts the agent, which gets its plan once it has said hello. Throws Error.
  AgentConnection(const StagePlan& plan, const SshOptions& ssh);

  [[nodiscard]] JsonLines& lines() noexcept { return lines_; }
  /// A message to the agent, behind its plan.
  void say(const nlohmann::json& message);
  [[nodiscard]] const StagePlan& plan() const noexcept { return plan_; }
  [[nodiscard]] std::string who() const { return describe(plan_.stage, plan_.number); }

  /// Handles messages about the agent and its command. Returns false for any other message, which the pipeline handles.
  /// Throws Error.
  bool take(const nlohmann::json& message);

  /// Empty until the agent's hello.
  [[nodiscard]] const std::optional<HostAddresses>& facts() const noexcept { return facts_; }
  [[nodiscard]] const StageOutcome& outcome() const noexcept { return outcome_; }
  void set_reader_closed(bool closed) noexcept { outcome_.reader_closed = closed; }
  /// Its stage is over and all of its processes have ended.
  [[nodiscard]] bool is_done() const noexcept { return is_done_; }
  /// Its process has ended.
  [[nodiscard]] bool is_gone() const noexcept { return !process_.is_running(); }

  /// A note for the user if ssh has led to no hello for a long time, which may have good reasons. Returned once; else
  /// empty.
  std::string take_note_of_silence(std::int64_t now_ns);
  /// Sends a ping now and then. Returns an error message if the agent has been silent for too long, else empty.
  std::string check_liveness(std::int64_t now_ns);
  void heard(std::int64_t now_ns) noexcept { heard_ns_ = now_ns; }
  /// Call after this process itself was suspended: the agent's silence meanwhile means nothing.
  void extend_deadline(std::int64_t slept_ns) noexcept { heard_ns_ += slept_ns; }

  /// True once, after its process has ended. Its last messages may still be in lines().
  bool has_just_ended();
  /// The error message of an agent that ended before it was done.
  [[nodiscard]] std::string why_it_ended() const;
  void stop();
  void kill() noexcept { process_.signal(SIGKILL); }

 private:
  void begin();
  static bool waits_for_reader() noexcept;

  StagePlan plan_;
  ChildProcess process_;
  JsonLines lines_;
  std::vector<nlohmann::json> later_;  // said before the agent has its plan
  std::optional<HostAddresses> facts_;
  StageOutcome outcome_;
  ChildExit process_exit_;
  bool is_done_ = false;
  bool has_noted_silence_ = false;
  std::int64_t done_ns_ = 0;
  std::int64_t heard_ns_ = 0;
  std::int64_t pinged_ns_ = 0;
};

}  // namespace framewire
