// Rectangles of a surface, counted from its top left.
#pragma once

#include "base/text.hpp"
#include "gl/rectangle.hpp"

namespace framewire {

/// Pixels of a surface. x and y are the top left corner, counted from the surface's top left, downwards; OpenGL counts
/// from the bottom (gl_rectangle() converts).
struct PictureRectangle {
  int x = 0;
  int y = 0;
  int width = 0;
  int height = 0;
  bool operator==(const PictureRectangle&) const = default;
};

/// The whole of a surface.
constexpr PictureRectangle whole_of(Size surface) noexcept {
  return {0, 0, static_cast<int>(surface.width), static_cast<int>(surface.height)};
}

/// The same place as OpenGL counts it.
constexpr Rectangle gl_rectangle(const PictureRectangle& rectangle, Size surface) noexcept {
  return {rectangle.x, static_cast<int>(surface.height) - rectangle.y - rectangle.height, rectangle.width,
          rectangle.height};
}

}  // namespace framewire
