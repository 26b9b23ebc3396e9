// How a frame is cut into slices.
#pragma once

#include <algorithm>
#include <cstdint>

namespace framewire {

/// Limit of a frame's slices: a header names them in eight bits on some links.
inline constexpr std::uint16_t max_slices = 256;

/// Slices begin at whole pages, so that devices and caches share no line between two of them.
inline constexpr std::uint64_t slice_alignment_bytes = 4096;

struct ByteRange {
  std::uint64_t offset_bytes = 0;
  std::uint64_t size_bytes = 0;
  [[nodiscard]] constexpr std::uint64_t end_bytes() const noexcept { return offset_bytes + size_bytes; }
  bool operator==(const ByteRange&) const = default;
};

/// Where slice `index` of `count` lies in a payload. Both ends compute it, so the slices of a frame never overlap and
/// never leave a gap. A slice of a small payload may be empty. `payload_bytes` is at most max_slot_bytes (2^32).
constexpr ByteRange slice_range(std::uint64_t payload_bytes, std::uint16_t count, std::uint16_t index) noexcept {
  const auto begin_of = [&](std::uint64_t slice) {
    return slice == count ? payload_bytes
                          : payload_bytes * slice / count / slice_alignment_bytes * slice_alignment_bytes;
  };
  const std::uint64_t begin_bytes = begin_of(index);
  return {begin_bytes, begin_of(std::uint64_t{index} + 1) - begin_bytes};
}

/// The number of slices nearest to `wanted` of which none is empty; at least one.
constexpr std::uint16_t possible_slices(std::uint64_t payload_bytes, std::uint16_t wanted) noexcept {
  const std::uint64_t most = std::clamp<std::uint64_t>(payload_bytes / slice_alignment_bytes, 1, max_slices);
  return static_cast<std::uint16_t>(std::clamp<std::uint64_t>(wanted, 1, most));
}

}  // namespace framewire
