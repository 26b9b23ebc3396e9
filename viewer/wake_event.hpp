// Wakes a thread that sleeps.
#pragma once

#include <poll.h>

#include <cstdint>

#include "base/file_descriptor.hpp"
#include "base/wait.hpp"

namespace framewire {

/// One thread sleeps in wait_until(), any thread wakes it. A wake() before the sleep makes the next one short.
class WakeEvent {
 public:
  /// Throws Error (no descriptor).
  WakeEvent() = default;

  void wake() noexcept { signal_eventfd(event_.get()); }

  /// Returns at wake(), or at `deadline_ns` (monotonic).
  void wait_until(std::int64_t deadline_ns) noexcept {
    wait_for(event_.get(), POLLIN, deadline_ns);
    clear_eventfd(event_.get());
  }

 private:
  FileDescriptor event_ = make_eventfd();
};

}  // namespace framewire
