// The processes that a pipeline starts: hops, commands, ssh.
#pragma once

#include <sys/types.h>

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "base/file_descriptor.hpp"
#include "base/pipe.hpp"

namespace framewire {

/// How a process ended, as waitpid() has it.
struct ChildExit {
  int status = 0;
  int signal = 0;  // 0: it ended by itself, with `status`
};

/// What a new process gets, and nothing else: descriptors stay its parent's unless they stand here.
struct ChildDescriptors {
  int input = -1;         // becomes standard input; -1: /dev/null
  int output = -1;        // becomes standard output; -1: /dev/null
  int control_pipe = -1;  // become control_fd and status_fd
  int status_pipe = -1;
};
inline constexpr int control_fd = 3;
inline constexpr int status_fd = 4;

/// A started process; is killed when this goes. A program finds SIGPIPE and SIGXFSZ as usual, other signals as rdpipe
/// found them.
class ChildProcess {
 public:
  ChildProcess() = default;
  ChildProcess(ChildProcess&& other) noexcept { *this = std::move(other); }
  ChildProcess& operator=(ChildProcess&& other) noexcept;
  ChildProcess(const ChildProcess&) = delete;
  ~ChildProcess();

  /// Forks a process that runs `work`, and ends with what it returns. It is killed when its parent ends, however that
  /// comes, unless it looks after itself. The parent has one thread. Throws Error.
  static ChildProcess fork_of(const ChildDescriptors& descriptors, const std::function<int()>& work,
                              bool goes_with_parent = true);
  /// Starts a program that is looked for in PATH. As `leader` it begins a process group, which signal() reaches then.
  /// Nothing of it runs before `prepare`, which is given the process, has returned. Throws Error, also when the program
  /// cannot be run.
  static ChildProcess start(const std::vector<std::string>& words, const ChildDescriptors& descriptors, bool leader,
                            const std::function<void(pid_t)>& prepare = {});

  [[nodiscard]] bool is_running() const noexcept { return pid_ > 0; }
  [[nodiscard]] pid_t pid() const noexcept { return pid_; }
  /// A leader's group gets it, also when the leader has ended.
  void signal(int number) const noexcept;
  /// Neither it nor anybody of its group is left.
  [[nodiscard]] bool is_all_gone() const noexcept;
  /// True once it has ended; then it is running no more. Never waits.
  bool has_ended(ChildExit& ending) noexcept;
  /// Waits for it.
  ChildExit wait() noexcept;
  /// The signal that has stopped it, once; 0: none has, or that has been told.
  [[nodiscard]] int stopped_by() const noexcept;

 private:
  pid_t pid_ = -1;
  pid_t group_ = -1;  // of a leader
};

/// What a process must do before anything else to take part: signals come by this descriptor from then on. One thread;
/// processes that are started later find the signals as they were before.
FileDescriptor take_signals();

/// Readable while one of those waits to be taken that end a program; SIGCHLD is none. Not to be read. After
/// take_signals(). Throws Error.
FileDescriptor watch_for_an_end();

/// The next signal's number; 0: none now.
int next_signal(int signals_fd) noexcept;

/// "signal 9 (Killed)".
std::string signal_text(int number);

}  // namespace framewire
