// A stage's command: the user's shell and all that it starts. None of these processes outlives its stage.
#pragma once

#include <string>

#include "command/child_process.hpp"

namespace framewire {

/// A process group, and a guard process beside it that kills the group if this process is killed. Otherwise a reader
/// could not tell a killed writer from a finished one. One thread.
class ChildCommand {
 public:
  /// Runs `text` in the user's shell. `input` and `output` become its standard input and output. The guard keeps
  /// `held_open`, the writing end of its input, open if it is valid. Throws Error.
  ChildCommand(const std::string& text, int input, int output, int held_open);
  ~ChildCommand();
  ChildCommand(const ChildCommand&) = delete;
  ChildCommand& operator=(const ChildCommand&) = delete;

  /// The command's input is complete: the guard closes its writing end.
  void input_has_ended() noexcept;
  /// Signals the whole group.
  void signal(int number) const noexcept { shell_.signal(number); }
  /// True once, after the shell has ended.
  bool has_ended(ChildExit& ending) noexcept;
  /// The signal that stopped (suspended) the shell, reported once; else 0.
  [[nodiscard]] int stopped_by() const noexcept { return shell_.stopped_by(); }
  [[nodiscard]] bool is_running() const noexcept { return shell_.is_running(); }
  /// No process of the group is left.
  [[nodiscard]] bool is_all_gone() const noexcept { return shell_.is_all_gone(); }

 private:
  void release_guard() noexcept;

  FileDescriptor lifeline_;  // the guard reads the other end of this pipe
  ChildProcess guard_;
  ChildProcess shell_;
};

}  // namespace framewire
