#include "base/clock.hpp"

#include <ctime>

namespace framewire {

namespace {

std::int64_t read_clock_ns(clockid_t clock) noexcept {
  timespec time{};
  ::clock_gettime(clock, &time);
  return std::int64_t{time.tv_sec} * ns_per_s + time.tv_nsec;
}

}  // namespace

std::int64_t monotonic_ns() noexcept {
  return read_clock_ns(CLOCK_MONOTONIC);
}

std::int64_t process_cpu_ns() noexcept {
  return read_clock_ns(CLOCK_PROCESS_CPUTIME_ID);
}

}  // namespace framewire
