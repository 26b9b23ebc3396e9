// A timer that is a descriptor.
#pragma once

#include <cstdint>

#include "base/file_descriptor.hpp"

namespace framewire {

/// A timerfd on the monotonic clock, not set. Throws Error when the process has no descriptors left.
FileDescriptor make_timer();

/// Makes the timer readable from `at_ns` (monotonic) on; 0: never. Any thread.
void set_timer(int timer_fd, std::int64_t at_ns) noexcept;

}  // namespace framewire
