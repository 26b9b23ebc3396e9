// Handles Ctrl-C and the other signals that ask a program to stop.
#pragma once

#include <atomic>
#include <csignal>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <mutex>
#include <thread>

#include "base/file_descriptor.hpp"

namespace framewire {

/// Those of `numbers` that are not ignored. nohup ignores SIGHUP, and a shell ignores Ctrl-C for the background jobs of
/// a script. A signalfd would deliver ignored signals all the same.
sigset_t signals_not_ignored(std::initializer_list<int> numbers) noexcept;

/// Handles SIGINT, SIGTERM and SIGHUP from its construction on. The first signal is a request to stop. The second one
/// ends the process by its default action, in case something hangs. A signal that was ignored at the start stays
/// ignored.
/// Construct it before any other thread, since threads inherit the signal mask. Its own thread is "fw-signals". The
/// members may be called from any thread.
class Interruption {
 public:
  /// Throws Error.
  Interruption();
  Interruption(const Interruption&) = delete;
  Interruption& operator=(const Interruption&) = delete;
  ~Interruption();

  [[nodiscard]] bool is_requested() const noexcept { return is_requested_.load(std::memory_order_acquire); }

  /// Whether a signal has come, even if "fw-signals" has not taken it yet. Ctrl-C in a terminal also reaches the
  /// programs that this one has started: who notices such a program's end can ask whether that was why.
  [[nodiscard]] bool has_come() const;

  /// Requests the same as a first signal. The next signal ends the process.
  void request();

  /// Becomes readable when the request comes, and stays readable.
  [[nodiscard]] int descriptor() const noexcept { return requested_.get(); }

  /// Sets the function that wakes the main thread when the request comes. It is called at once if the request has come
  /// already. An empty function removes it.
  void set_wake(std::function<void()> wake);

 private:
  void run();
  void receive(int signal_number, bool is_first);

  FileDescriptor signals_;
  FileDescriptor stop_;
  FileDescriptor requested_;
  mutable std::mutex taking_;  // from a signal's last moment in signals_ until is_requested_ tells of it
  std::atomic<bool> is_requested_{false};
  std::int64_t requested_ns_ = 0;  // used by fw-signals only
  std::mutex mutex_;
  std::function<void()> wake_;  // guarded by mutex_
  std::thread thread_;
};

}  // namespace framewire
