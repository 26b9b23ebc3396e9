// Fits a picture into a surface of another shape.
#pragma once

#include "base/text.hpp"
#include "frame/frame_layout.hpp"

namespace framewire {

/// Pixels of a surface. x and y are the top left corner, counted from the surface's top left, downwards; OpenGL counts
/// from the bottom (Layer::draw() converts).
struct PictureRectangle {
  int x = 0;
  int y = 0;
  int width = 0;
  int height = 0;
  bool operator==(const PictureRectangle&) const = default;
};

/// The largest centred rectangle on `surface` that shows `frame` undistorted. One frame pixel is `sample_aspect_ratio`
/// wide for 1 high; the ratio comes from the peer, and a term of 0 counts as 1:1. At least one pixel; empty only if a
/// side of an argument is 0.
PictureRectangle fit(Size frame, Rational sample_aspect_ratio, Size surface) noexcept;

}  // namespace framewire
