// What every loop over a non-blocking descriptor needs when a call did nothing.
#pragma once

#include <cerrno>
#include <cstdint>
#include <string_view>

namespace framewire {

/// Whether a read or write that failed so only has to be tried again, when the descriptor is ready.
constexpr bool is_passing(int error_number) noexcept {
  return error_number == EAGAIN || error_number == EWOULDBLOCK || error_number == EINTR;
}

/// Waits until `fd` is ready for `events` (POLLIN, POLLOUT). Throws Error (lost_peer) with the sentence at the
/// deadline.
void wait_or_throw(int fd, short events, std::int64_t deadline_ns, std::string_view message);

}  // namespace framewire
