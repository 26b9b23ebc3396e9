// Reference colours of a frame, computed in double precision. Shares no formulas or tables with gl/.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "frame/colour.hpp"
#include "frame/frame_layout.hpp"

namespace framewire {

/// R, G, B, A of one pixel, 0 … 255, not rounded.
using ReferencePixel = std::array<double, 4>;

/// Pixel (x, y) of the frame in `payload`. `colour` gives matrix and range; the design's defaults replace unspecified
/// ones.
ReferencePixel reference_pixel(const FrameLayout& layout, std::span<const std::byte> payload, const Colour& colour,
                               int x, int y, ChromaLocation chroma = ChromaLocation::unspecified);

/// A layout with gaps: `extra_pitch_bytes` follow every row, the first plane begins at `first_offset_bytes`, and
/// `gap_bytes` separate the planes.
FrameLayout padded_layout(PixelFormat format, std::uint32_t width, std::uint32_t height,
                          std::uint32_t extra_pitch_bytes, std::uint64_t first_offset_bytes, std::uint64_t gap_bytes);

/// The names of all picture formats, for tests of each.
std::vector<std::string> format_names();

/// Fills the whole span, including gaps, with random values and with the format's extremes.
void fill_with_content(PixelFormat format, std::span<std::byte> payload, std::uint32_t seed);

}  // namespace framewire
