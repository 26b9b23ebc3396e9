// Waiting for descriptors with a deadline.
#pragma once

#include <cstdint>
#include <span>

#include <poll.h>

namespace framewire {

/// poll() until `deadline_ns` (monotonic); continues after signals. Returns how many descriptors are ready, 0 at the
/// deadline. A deadline in the past polls once without sleeping. Entries with fd -1 are ignored.
int wait_until(std::span<pollfd> descriptors, std::int64_t deadline_ns) noexcept;

/// Whether `fd` became ready for `events` (POLLIN, POLLOUT) before the deadline.
bool wait_for(int fd, short events, std::int64_t deadline_ns) noexcept;

/// Sets the calling thread's name, as ps and top show it; at most 15 characters.
void set_thread_name(const char* name) noexcept;

}  // namespace framewire
