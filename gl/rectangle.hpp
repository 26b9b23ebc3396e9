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

/// Rectangles by the corner with the smallest x and y, and their sides.
template <typename T>
concept RectangleLike = requires(const T& rectangle) {
  T{rectangle.x, rectangle.y, rectangle.width, rectangle.height};
};

template <RectangleLike T>
constexpr bool is_empty(const T& rectangle) noexcept {
  return rectangle.width <= 0 || rectangle.height <= 0;
}

/// What both have in common; all zeros if that is nothing. All of their edges must be in the range of int.
template <RectangleLike T>
constexpr T common_part(const T& a, const T& b) noexcept {
  const int x = std::max(a.x, b.x);
  const int y = std::max(a.y, b.y);
  const int end_x = std::min(a.x + a.width, b.x + b.width);
  const int end_y = std::min(a.y + a.height, b.y + b.height);
  return end_x > x && end_y > y ? T{x, y, end_x - x, end_y - y} : T{};
}

}  // namespace framewire
