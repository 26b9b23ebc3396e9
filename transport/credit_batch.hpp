// When a viewer says that slots are free again: at once, or several together.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace framewire {

/// Every word of a credit is a call into the kernel or to the device here, and a wake-up there: as much as a small
/// frame costs by itself. While such frames come faster than they are taken, their credits wait for one another.
struct CreditBatch {
  static constexpr std::uint64_t small_frame_bytes = 16384;
  static constexpr std::size_t max_held = 32;

  std::size_t held = 0;  // with the one that is to be said
  std::size_t ring_slots = 0;
  std::uint64_t frame_bytes = 0;
  bool more_is_waiting = false;  // whoever takes the frames will be back soon; and where nothing is, says what is held

  /// The sender has at least three quarters of the ring to go on with.
  [[nodiscard]] constexpr bool may_wait() const noexcept {
    return more_is_waiting && frame_bytes <= small_frame_bytes && held < std::min(ring_slots / 4, max_held);
  }
};

}  // namespace framewire
