// Waiting for what other threads do.
#pragma once

#include <chrono>
#include <functional>
#include <thread>

#include "base/clock.hpp"

namespace framewire::test {

/// What takes longer than this does not come any more.
inline constexpr std::int64_t timeout_ns = 20 * ns_per_s;

/// Whether `condition` came true, looked at again and again.
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
