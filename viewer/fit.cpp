#include "viewer/fit.hpp"

#include <algorithm>

namespace framewire {

namespace {

/// a * b / c, rounded to nearest, at least 1. Sides are at most 2^15 and aspect terms below 2^32, so 2 * a * b < 2^63.
std::uint32_t scaled(std::uint32_t a, std::uint64_t b, std::uint64_t c, std::uint32_t most) noexcept {
  const std::uint64_t value = (2 * std::uint64_t{a} * b + c) / (2 * c);
  return static_cast<std::uint32_t>(std::clamp<std::uint64_t>(value, 1, most));
}

}  // namespace

PictureRectangle fit(Size frame, Rational sample_aspect_ratio, Size surface) noexcept {
  if (frame.width == 0 || frame.height == 0 || surface.width == 0 || surface.height == 0) {
    return {};
  }
  if (sample_aspect_ratio.numerator == 0 || sample_aspect_ratio.denominator == 0) {
    sample_aspect_ratio = {1, 1};
  }
  const std::uint64_t wide = std::uint64_t{frame.width} * sample_aspect_ratio.numerator;
  const std::uint64_t high = std::uint64_t{frame.height} * sample_aspect_ratio.denominator;
  Size shown = surface;
  if (surface.width * high <= surface.height * wide) {
    shown.height = scaled(surface.width, high, wide, surface.height);
  } else {
    shown.width = scaled(surface.height, wide, high, surface.width);
  }
  return {static_cast<int>((surface.width - shown.width) / 2), static_cast<int>((surface.height - shown.height) / 2),
          static_cast<int>(shown.width), static_cast<int>(shown.height)};
}

}  // namespace framewire
