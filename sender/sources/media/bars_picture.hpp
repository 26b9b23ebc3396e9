// The moving picture of `pattern:bars`. Drawing is cheap, so that the transport gets the CPU.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "frame/frame_layout.hpp"

namespace framewire {

/// Colour bars that move left; below them a row of narrow bars that moves right; below that a grey ramp that moves
/// left, faster. YUV formats use BT.709 in limited range; grey uses full range. Each band is one row, prepared at twice
/// its visible length, so that drawing only copies from an offset.
class BarsPicture {
 public:
  /// `layout` is packed.
  explicit BarsPicture(const FrameLayout& layout);

  /// Draws picture number `index` into `frame` (layout.size_bytes).
  void draw(std::span<std::byte> frame, std::uint64_t index) const noexcept;

 private:
  static constexpr std::size_t band_count = 3;
  using Row = std::vector<std::byte>;

  [[nodiscard]] std::size_t band_at(std::uint32_t pixel_row) const noexcept;

  FrameLayout layout_;
  std::uint32_t period_pixels_;                      // period of a band; even, for formats with subsampled chroma
  std::array<std::array<Row, band_count>, 3> rows_;  // of each plane
};

}  // namespace framewire
