// Waiting for descriptors with a deadline.
#pragma once

#include <poll.h>

#include <cerrno>
#include <cstdint>
#include <span>
#include <string_view>

namespace framewire {

/// poll() until `deadline_ns` (monotonic); continues after signals. Returns how many descriptors are ready, 0 at the
/// deadline. A deadline in the past polls once without sleeping. Entries with fd -1 are ignored.
int wait_until(std::span<pollfd> descriptors, std::int64_t deadline_ns) noexcept;

/// Whether `fd` became ready for `events` (POLLIN, POLLOUT) before the deadline.
bool wait_for(int fd, short events, std::int64_t deadline_ns) noexcept;

/// wait_for() that throws Error (lost_peer) with `message` at the deadline.
void wait_or_throw(int fd, short events, std::int64_t deadline_ns, std::string_view message);

/// Whether a failed read or write only has to be retried when the descriptor is ready.
constexpr bool is_passing(int error_number) noexcept {
  return error_number == EAGAIN || error_number == EWOULDBLOCK || error_number == EINTR;
}

/// Sets the calling thread's name, as ps and top show it; at most 15 characters.
void set_thread_name(const char* name) noexcept;

}  // namespace framewire
