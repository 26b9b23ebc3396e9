// When a viewer returns credits: at once, or several together.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace framewire {

/// Every credit message costs a system call or a device operation at the viewer and a wake-up at the sender: as much as
/// a small frame itself. While small frames arrive faster than the program takes them, their credits are batched.
struct CreditBatch {
  static constexpr std::uint64_t small_frame_bytes = 16384;
  static constexpr std::size_t max_held = 32;

  std::size_t held = 0;  // credits not sent yet, including the current one
  std::size_t ring_slots = 0;
  std::uint64_t frame_bytes = 0;
  bool more_is_waiting = false;  // the program calls poll() again soon, and an empty poll() sends the held credits

  /// Holds back at most a quarter of the ring, so the sender can continue with the rest.
  [[nodiscard]] constexpr bool may_wait() const noexcept {
    return more_is_waiting && frame_bytes <= small_frame_bytes && held < std::min(ring_slots / 4, max_held);
  }
};

}  // namespace framewire
