// A frame that viewers get slice by slice, while its source still fills it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include "frame/frame_header.hpp"
#include "transport/claimed_slot.hpp"
#include "transport/subscriber_queue.hpp"

namespace framewire {

/// The source fills one slice after another, in any order, and publishes each. Destroying a frame that is not complete
/// aborts it: viewers that have begun it drop it, and the others count it as skipped.
class BegunFrame : public SourceSlot {
 public:
  BegunFrame(BegunFrame&& other) noexcept = default;
  BegunFrame& operator=(BegunFrame&& other) noexcept {
    std::swap(header_, other.header_);
    std::swap(progress_, other.progress_);
    SourceSlot::operator=(std::move(other));
    return *this;
  }
  ~BegunFrame();

  [[nodiscard]] std::uint64_t sequence() const noexcept { return header_.sequence; }
  [[nodiscard]] std::uint16_t slice_count() const noexcept { return progress_->count; }
  [[nodiscard]] ByteRange slice(std::uint16_t index) const noexcept {
    return slice_range(header_.layout.size_bytes, progress_->count, index);
  }
  /// The whole payload. Only slices that are not published may be written.
  [[nodiscard]] std::span<std::byte> bytes() const noexcept {
    return pool_->slot(index_).first(header_.layout.size_bytes);
  }

  /// The slice is filled. Never waits. The last one completes the frame. Throws Error (failed) for a slice that the
  /// frame does not have, or that is published already; also if the device of the stream's memory is lost.
  void publish(std::uint16_t index);

 private:
  friend class Stream;
  BegunFrame(ClaimedSlot&& slot, const FrameHeader& header, SliceProgress& progress) noexcept
      : SourceSlot(std::move(slot)), header_(header), progress_(&progress) {}

  FrameHeader header_;       // of the whole frame
  SliceProgress* progress_;  // the stream's
};

}  // namespace framewire
