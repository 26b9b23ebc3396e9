// Time. All times in framewire are nanoseconds of CLOCK_MONOTONIC, which is one clock for every process of a machine.
#pragma once

#include <chrono>
#include <cstdint>

namespace framewire {

inline constexpr std::int64_t ns_per_us = 1'000;
inline constexpr std::int64_t ns_per_ms = 1'000'000;
inline constexpr std::int64_t ns_per_s = 1'000'000'000;

/// CLOCK_MONOTONIC. Any thread.
std::int64_t monotonic_ns() noexcept;

/// The same instant for functions of the standard library that wait.
inline std::chrono::steady_clock::time_point as_time_point(std::int64_t monotonic_time_ns) noexcept {
  return std::chrono::steady_clock::time_point(std::chrono::nanoseconds(monotonic_time_ns));
}

/// CPU time that this process has used so far, user and system together.
std::int64_t process_cpu_ns() noexcept;

/// Time as an interface, so that tests can control it.
class Clock {
 public:
  virtual ~Clock() = default;
  [[nodiscard]] virtual std::int64_t now_ns() const noexcept = 0;
};

class SystemClock final : public Clock {
 public:
  [[nodiscard]] std::int64_t now_ns() const noexcept override { return monotonic_ns(); }
};

/// A clock that only moves when told. One thread.
class VirtualClock final : public Clock {
 public:
  [[nodiscard]] std::int64_t now_ns() const noexcept override { return now_ns_; }
  void advance_to_ns(std::int64_t ns) noexcept { now_ns_ = ns > now_ns_ ? ns : now_ns_; }

 private:
  std::int64_t now_ns_ = 0;
};

/// Whether a peer's time is plausible. CLOCK_MONOTONIC counts from the machine's start. Differences of two times up to
/// 146 years cannot overflow.
constexpr bool is_monotonic_time(std::int64_t time_ns) noexcept {
  return time_ns >= 0 && time_ns <= INT64_MAX / 2;
}

}  // namespace framewire
