// The moving picture of `pattern:bars`. Drawing is cheap, so that the transport gets the CPU.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "frame/frame_layout.hpp"
#include "frame/slices.hpp"

namespace framewire {

/// Colour bars that move left; below them a row of narrow bars that moves right; below that a grey ramp that moves
/// left, faster. YUV formats use BT.709 in limited range; grey uses full range. Each band is one row, prepared at twice
/// its visible length, so that drawing only copies from an offset.
class BarsPicture {
 public:
  /// `layout` is packed.
  explicit BarsPicture(const FrameLayout& layout);

  /// Draws the rows of picture number `index` that begin in `part` of `frame` (layout.size_bytes). So parts that follow
  /// each other make up the picture; the last row of a part may reach into the next one.
  void draw(std::span<std::byte> frame, std::uint64_t index, const ByteRange& part) const noexcept;

 private:
  static constexpr std::size_t band_count = 3;
  using Row = std::vector<std::byte>;

  [[nodiscard]] std::size_t band_at(std::uint32_t pixel_row) const noexcept;
  static std::uint32_t row_from(const PlaneLayout& plane, std::uint64_t from_bytes) noexcept;

  FrameLayout layout_;
  std::uint32_t period_pixels_;                      // period of a band; even, for formats with subsampled chroma
  std::array<std::array<Row, band_count>, 3> rows_;  // of each plane
};

}  // namespace framewire
