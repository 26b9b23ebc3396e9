#include "transport/slice_assembly.hpp"

namespace framewire {

const char* SliceAssembly::why_not_in_slices(const FrameHeader& header) const noexcept {
  const bool is_begun = count_ != 0;
  if (is_begun && (header.sequence != sequence_ || header.slice_count != count_ || header.layout != layout_)) {
    return "a frame to a slot whose frame is not complete";
  }
  if (header.is_aborted) {
    return !is_begun            ? "the end of a frame that it had not begun"
           : has_[header.slice] ? "the end of a frame with the number of a slice that had come"
                                : nullptr;
  }
  const ByteRange range{header.slice_offset_bytes, header.slice_bytes};
  if (range != slice_range(header)) {
    return "a slice that overlaps others or leaves a gap";
  }
  return is_begun && has_[header.slice] ? "a slice twice" : nullptr;
}

SliceAssembly::Progress SliceAssembly::add_slice(const FrameHeader& header) noexcept {
  if (header.is_aborted) {
    *this = {};
    return Progress::aborted;
  }
  if (count_ == 0) {
    sequence_ = header.sequence;
    layout_ = header.layout;
    count_ = header.slice_count;
  }
  has_.set(header.slice);
  if (has_.count() < count_) {
    return Progress::part;
  }
  *this = {};
  return Progress::whole;
}

}  // namespace framewire
