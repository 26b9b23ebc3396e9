// Waiting for descriptors with a deadline.
#pragma once

#include <cstdint>
#include <span>

#include <poll.h>

namespace framewire {

/// poll() until `deadline_ns` (monotonic), going on after signals. Returns how many descriptors are ready, 0 at the
/// deadline. A deadline in the past looks once without sleeping. Entries with fd -1 are passed over.
int wait_until(std::span<pollfd> descriptors, std::int64_t deadline_ns) noexcept;

/// Whether `fd` became ready for `events` (POLLIN, POLLOUT) before the deadline.
bool wait_for(int fd, short events, std::int64_t deadline_ns) noexcept;

/// Names the calling thread as tools show it; at most 15 characters.
void set_thread_name(const char* name) noexcept;

}  // namespace framewire
