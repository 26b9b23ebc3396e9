// A stage's command: the user's shell with whatever it starts, none of which outlives its stage by accident.
#pragma once

#include <string>

#include "rdpipe/child_process.hpp"

namespace framewire {

/// One thread. A process group, and a guard beside it that kills the group if this process is killed: what reads a pipe
/// whose writer was killed would else take the end of it for the end of its input.
class ChildCommand {
 public:
  /// Has the user's shell run `text`. `input` and `output` become its standard input and output; the guard holds
  /// `held_open`, the writing end of its input, if valid. Throws Error.
  ChildCommand(const std::string& text, int input, int output, int held_open);
  ~ChildCommand();
  ChildCommand(const ChildCommand&) = delete;
  ChildCommand& operator=(const ChildCommand&) = delete;

  /// Its input has come to its end as it should: the guard lets go of it.
  void input_has_ended() noexcept;
  /// To the whole group.
  void signal(int number) const noexcept { shell_.signal(number); }
  /// True once, when the shell has ended.
  bool has_ended(ChildExit& ending) noexcept;
  /// The signal that has stopped it, once, or 0.
  [[nodiscard]] int stopped_by() const noexcept { return shell_.stopped_by(); }
  [[nodiscard]] bool is_running() const noexcept { return shell_.is_running(); }
  /// Nothing of the group is left.
  [[nodiscard]] bool is_all_gone() const noexcept { return shell_.is_all_gone(); }

 private:
  void let_guard_go() noexcept;

  FileDescriptor lifeline_;  // the guard reads its other end
  ChildProcess guard_;
  ChildProcess shell_;
};

}  // namespace framewire
