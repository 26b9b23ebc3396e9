// The moving picture of `pattern:bars`, fast enough to leave the machine to the transport.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "frame/frame_layout.hpp"

namespace framewire {

/// Colour bars that move to the left, under them a row of narrow bars that moves to the right, and a grey ramp that
/// moves to the left, faster. YUV formats hold them in BT.709, limited range; grey in full range. Each band is one row,
/// prepared twice as long as it is shown, so that drawing is copying from an offset and nothing else.
class BarsPicture {
 public:
  /// `layout` is packed.
  explicit BarsPicture(const FrameLayout& layout);

  /// Fills `frame` (layout.size_bytes) with picture number `index`.
  void draw(std::span<std::byte> frame, std::uint64_t index) const noexcept;

 private:
  static constexpr std::size_t band_count = 3;
  using Row = std::vector<std::byte>;

  [[nodiscard]] std::size_t band_at(std::uint32_t pixel_row) const noexcept;

  FrameLayout layout_;
  std::uint32_t period_pixels_;                      // after which a band repeats; even, for formats with half chroma
  std::array<std::array<Row, band_count>, 3> rows_;  // of each plane
};

}  // namespace framewire
