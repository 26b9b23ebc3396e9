// From the numbers in a frame to RGB.
#pragma once

#include <array>
#include <cstdint>

#include "frame/colour.hpp"
#include "frame/pixel_format.hpp"

namespace framewire {

/// RGB = matrix * texel + offset, where texel is (Y, U, V) or (R, G, B) as OpenGL reads a normalised texture, 0 … 1,
/// and RGB is R'G'B' 0 … 1 as it goes to the screen.
struct ColourConversion {
  std::array<float, 9> matrix;  // column by column, as GL wants it
  std::array<float, 3> offset;
};

/// Where a chroma sample lies among the two luma samples that it belongs to, along each axis, in halves of their
/// distance: 0 at the first, 1 between both, 2 at the last. An axis on which there is as much chroma as luma ignores
/// it.
struct ChromaSite {
  int x_halves = 0;
  int y_halves = 1;
};

/// An unspecified location is `left`, as players take it. Source: H.273 §8.7, figure 10 of H.264.
ChromaSite chroma_site(ChromaLocation location) noexcept;

/// The conversion for frames of `height` lines. An unspecified range is limited for YUV and full for RGB and gray; an
/// unspecified matrix follows luma_weights(). Transfer function and primaries are not touched: a frame is shown as it
/// is coded (no tone mapping). Any thread. Sources: ITU-R BT.601-7 §2.5, BT.709-6 §3, BT.2020-2 tables 4 and 5; full
/// range as in JFIF and H.273 §8.3.
ColourConversion colour_conversion(PixelFormat format, const Colour& colour, std::uint32_t height) noexcept;

}  // namespace framewire
