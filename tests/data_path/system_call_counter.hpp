// Counts the system calls of one thread, whichever function makes them.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <thread>

#include "base/file_descriptor.hpp"

namespace framewire::test {

/// The kernel asks a thread of this class about every system call of the counted thread, and waits for its answer
/// (seccomp's user notification). So a count is exact as soon as the call returns. Threads that the counted thread
/// starts are counted with it. It is counted to its end: the owner joins it, then destroys this object.
class SystemCallCounter {
 public:
  SystemCallCounter();
  ~SystemCallCounter();
  SystemCallCounter(const SystemCallCounter&) = delete;
  SystemCallCounter& operator=(const SystemCallCounter&) = delete;

  /// From now on the calling thread is counted. Call it once. Returns why this machine cannot count; empty if it can.
  std::string count_this_thread();

  /// How often the call with this number (SYS_…) was made. Any thread.
  [[nodiscard]] std::uint64_t calls(long number) const noexcept;

  static constexpr std::size_t numbers = 1024;  // more than any architecture has

 private:
  void answer() noexcept;

  FileDescriptor stop_event_;
  std::atomic<int> listener_ = -1;
  std::atomic<bool> may_end_ = false;
  std::array<std::atomic<std::uint64_t>, numbers> calls_{};
  std::thread thread_;
};

}  // namespace framewire::test
