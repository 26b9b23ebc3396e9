// What a frame looks like, computed the long way in double precision. Shares nothing with gl/: neither formulas nor
// tables.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "frame/colour.hpp"
#include "frame/frame_layout.hpp"

namespace framewire {

/// R, G, B, A of one pixel, 0 … 255, not rounded.
using ReferencePixel = std::array<double, 4>;

/// Pixel (x, y) of the frame in `payload`. `colour` says matrix and range; unspecified ones are taken as the design has
/// them.
ReferencePixel reference_pixel(const FrameLayout& layout, std::span<const std::byte> payload, const Colour& colour,
                               int x, int y, ChromaLocation chroma = ChromaLocation::unspecified);

/// A layout with gaps: every row is followed by `extra_pitch_bytes`, the first plane begins at `first_offset_bytes` and
/// each further one `gap_bytes` after the one before.
FrameLayout padded_layout(PixelFormat format, std::uint32_t width, std::uint32_t height,
                          std::uint32_t extra_pitch_bytes, std::uint64_t first_offset_bytes, std::uint64_t gap_bytes);

/// Fills the whole span, gaps too, with numbers that are random or at the ends of what the format can hold.
void fill_with_content(PixelFormat format, std::span<std::byte> payload, std::uint32_t seed);

}  // namespace framewire
