// Helpers for loops over a non-blocking descriptor.
#pragma once

#include <cerrno>
#include <cstdint>
#include <string_view>

namespace framewire {

/// Whether a failed read or write only has to be retried when the descriptor is ready.
constexpr bool is_passing(int error_number) noexcept {
  return error_number == EAGAIN || error_number == EWOULDBLOCK || error_number == EINTR;
}

/// Waits until `fd` is ready for `events` (POLLIN, POLLOUT). At the deadline it throws Error (lost_peer) with
/// `message`.
void wait_or_throw(int fd, short events, std::int64_t deadline_ns, std::string_view message);

}  // namespace framewire
