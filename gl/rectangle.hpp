// Rectangles of a framebuffer.
#pragma once

#include <algorithm>

namespace framewire {

/// A rectangle of the framebuffer in pixels; x and y are its lower left corner, as in GL.
struct Rectangle {
  int x;
  int y;
  int width;
  int height;
  bool operator==(const Rectangle&) const = default;
};

constexpr bool is_empty(const Rectangle& rectangle) noexcept {
  return rectangle.width <= 0 || rectangle.height <= 0;
}

/// What both have in common; it may be empty. All of their edges must be in the range of int.
constexpr Rectangle intersection(const Rectangle& a, const Rectangle& b) noexcept {
  const int left = std::max(a.x, b.x);
  const int bottom = std::max(a.y, b.y);
  const int right = std::min(a.x + a.width, b.x + b.width);
  const int top = std::min(a.y + a.height, b.y + b.height);
  return {left, bottom, std::max(right - left, 0), std::max(top - bottom, 0)};
}

}  // namespace framewire
