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
  /// of a frame that was not begun or that has a slice's number. Call it before the slice's bytes are taken.
  [[nodiscard]] const char* why_not(const FrameHeader& header) const noexcept {
    const bool is_simple = count_ == 0 && header.slice_count == 1 && !header.is_aborted &&
                           header.slice_offset_bytes == 0 && header.slice_bytes == header.layout.size_bytes;
    return is_simple ? nullptr : why_not_in_slices(header);
  }

  /// The slice's bytes are in the slot. After `whole` and `aborted`, the next frame may come to the slot.
  Progress add(const FrameHeader& header) noexcept {
    return header.slice_count == 1 ? Progress::whole : add_slice(header);
  }

 private:
  [[nodiscard]] const char* why_not_in_slices(const FrameHeader& header) const noexcept;
  Progress add_slice(const FrameHeader& header) noexcept;

  std::uint16_t count_ = 0;  // of the frame's slices; 0: none has come
  std::uint64_t sequence_ = 0;
  FrameLayout layout_;
  std::bitset<max_slices> has_;
};

}  // namespace framewire
