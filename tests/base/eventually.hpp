// Waits for other threads.
#pragma once

#include <chrono>
#include <functional>
#include <thread>

#include "base/clock.hpp"

namespace framewire::test {

/// After this time a test gives up.
inline constexpr std::int64_t timeout_ns = 20 * ns_per_s;

/// Polls `condition` until it is true; false after timeout_ns.
inline bool eventually(const std::function<bool()>& condition) {
  const std::int64_t deadline_ns = monotonic_ns() + timeout_ns;
  while (monotonic_ns() < deadline_ns) {
    if (condition()) {
      return true;
    }
    std::this_thread::sleep_for(std::chrono::microseconds(200));
  }
  return false;
}

}  // namespace framewire::test
