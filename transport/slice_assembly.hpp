// The slices of one frame, as they arrive at a viewer.
#pragma once

#include <bitset>
#include <cstdint>

#include "frame/frame_header.hpp"

namespace framewire {

/// One for each slot that a sender writes to. Slices may come in any order. A value without a lock: the link that owns
/// it guards it.
class SliceAssembly {
 public:
  /// What a frame has become by a slice.
  enum class Progress { part, whole, aborted };

  /// Why the sender may not send this slice to the slot, as the rest of "the sender sent …"; null: it may. Refuses a
  /// slice that came already or lies elsewhere than its number says, one of another frame than the slot's, and the end
  /// of a frame that was not begun. Call it before the slice's bytes are taken.
  [[nodiscard]] const char* why_not(const FrameHeader& header) const noexcept;

  /// The slice's bytes are in the slot. After `whole` and `aborted`, the next frame may come to the slot.
  Progress add(const FrameHeader& header) noexcept;

 private:
  std::uint64_t sequence_ = 0;
  FrameLayout layout_;
  std::uint16_t count_ = 0;  // of the frame's slices; 0: none has come
  std::bitset<max_slices> has_;
};

}  // namespace framewire
