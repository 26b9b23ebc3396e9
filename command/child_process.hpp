// The processes that a program starts (a pipeline's hops, commands and ssh; a viewer's own senders), and the signals of
// their parent.
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

/// The descriptors of a new process. It inherits no others.
struct ChildDescriptors {
  int input = -1;         // becomes standard input; -1: /dev/null
  int output = -1;        // becomes standard output; -1: /dev/null
  int error = -1;         // becomes standard error; -1: that of the parent
  int control_pipe = -1;  // becomes control_fd
  int status_pipe = -1;   // becomes status_fd
};
inline constexpr int control_fd = 3;
inline constexpr int status_fd = 4;

/// A started process. The destructor kills it. The program starts with the default actions for SIGPIPE and SIGXFSZ, and
/// with the other signals as its parent found them.
class ChildProcess {
 public:
  ChildProcess() = default;
  ChildProcess(ChildProcess&& other) noexcept { *this = std::move(other); }
  ChildProcess& operator=(ChildProcess&& other) noexcept;
  ChildProcess(const ChildProcess&) = delete;
  ~ChildProcess();

  /// Forks a process that runs `work` and exits with its result. It is killed when its parent ends, however that
  /// happens, unless `goes_with_parent` is false. The parent must have one thread. Throws Error.
  static ChildProcess fork_of(const ChildDescriptors& descriptors, const std::function<int()>& work,
                              bool goes_with_parent = true);
  /// Starts a program, found in PATH if its name has no slash. As `leader` it begins a process group, and signal() then
  /// signals that group. `prepare` is called with the process id before the program runs. `folder` becomes its working
  /// directory; empty: that of the parent. It is killed when the thread that calls this ends, however that happens. The
  /// parent may have more threads. Throws Error, also if the program cannot be executed.
  static ChildProcess start(const std::vector<std::string>& words, const ChildDescriptors& descriptors, bool leader,
                            const std::function<void(pid_t)>& prepare = {}, const std::string& folder = {});

  [[nodiscard]] bool is_running() const noexcept { return pid_ > 0; }
  [[nodiscard]] pid_t pid() const noexcept { return pid_; }
  /// Signals the process, or a leader's group, even after the leader has ended.
  void signal(int number) const noexcept;
  /// The process and its group have ended.
  [[nodiscard]] bool is_all_gone() const noexcept;
  /// True after it has ended; is_running() is false then. Never waits.
  bool has_ended(ChildExit& ending) noexcept;
  /// Waits for it.
  ChildExit wait() noexcept;
  /// The signal that stopped (suspended) it, reported once; else 0.
  [[nodiscard]] int stopped_by() const noexcept;

 private:
  pid_t pid_ = -1;
  pid_t group_ = -1;  // of a leader
};

/// Blocks the signals and returns a descriptor that delivers them. Call it before anything else. One thread. Processes
/// that are started later get the signals as they were before.
FileDescriptor take_signals();

/// A descriptor that is readable while a signal that ends a program is pending; SIGCHLD does not count. Do not read
/// from it. Call after take_signals(). Throws Error.
FileDescriptor watch_for_an_end();

/// The next signal's number; 0: none is pending.
int next_signal(int signals_fd) noexcept;

/// "signal 9 (Killed)".
std::string signal_text(int number);

}  // namespace framewire
