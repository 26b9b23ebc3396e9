// Ctrl-C and the polite ways to stop a program.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <mutex>
#include <thread>

#include "base/file_descriptor.hpp"

namespace framewire {

/// Takes SIGINT, SIGTERM and SIGHUP from here on: the first one is a request, the second ends the process as it always
/// did, for the case that something hangs; each only where it is not to be ignored. Made before any other thread, since
/// threads inherit which signals are theirs. Its own thread is "fw-signals"; the members may be called from any.
class Interruption {
 public:
  /// Throws Error.
  Interruption();
  Interruption(const Interruption&) = delete;
  Interruption& operator=(const Interruption&) = delete;
  ~Interruption();

  [[nodiscard]] bool is_requested() const noexcept { return is_requested_.load(std::memory_order_acquire); }

  /// Becomes readable, and stays so, when the request comes.
  [[nodiscard]] int descriptor() const noexcept { return requested_.get(); }

  /// What wakes the main thread when the request comes, or at once where it has come; an empty function takes the last
  /// one away again.
  void set_wake(std::function<void()> wake);

 private:
  void run();
  void receive(int signal_number);

  FileDescriptor signals_;
  FileDescriptor stop_;
  FileDescriptor requested_;
  std::atomic<bool> is_requested_{false};
  std::int64_t requested_ns_ = 0;  // the thread of the signals
  std::mutex mutex_;
  std::function<void()> wake_;  // guarded by mutex_
  std::thread thread_;
};

}  // namespace framewire
