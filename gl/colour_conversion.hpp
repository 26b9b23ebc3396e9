// Converts the values of a frame to RGB.
#pragma once

#include <array>
#include <cstdint>

#include "frame/colour.hpp"
#include "frame/pixel_format.hpp"

namespace framewire {

/// RGB = matrix * texel + offset. The texel is (Y, U, V) or (R, G, B) as OpenGL reads a normalised texture, 0 … 1. RGB
/// is gamma-coded R'G'B', 0 … 1, as it goes to the screen.
struct ColourConversion {
  std::array<float, 9> matrix;  // column-major, as GL expects it
  std::array<float, 3> offset;
};

/// Where a chroma sample lies relative to its two luma samples on each axis, in half luma distances: 0 is at the first,
/// 1 between them, 2 at the last. Ignored on an axis where chroma is not subsampled.
struct ChromaSite {
  int x_halves = 0;
  int y_halves = 1;
};

/// An unspecified location means `left`, as in most players. Source: H.273 §8.7, figure 10 of H.264.
ChromaSite chroma_site(ChromaLocation location) noexcept;

/// The conversion for frames of `height` lines. An unspecified range is limited for YUV and full for RGB and gray; an
/// unspecified matrix follows luma_weights(). Transfer function and primaries stay as coded (no tone mapping). Any
/// thread. Sources: ITU-R BT.601-7 §2.5, BT.709-6 §3, BT.2020-2 tables 4 and 5; full range as in JFIF and H.273 §8.3.
ColourConversion colour_conversion(PixelFormat format, const Colour& colour, std::uint32_t height) noexcept;

}  // namespace framewire
