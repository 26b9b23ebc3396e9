// Fits a picture into a surface of another shape.
#pragma once

#include "base/text.hpp"
#include "frame/frame_layout.hpp"
#include "viewer/picture_rectangle.hpp"

namespace framewire {

/// The largest centred rectangle on `surface` that shows `frame` undistorted. One frame pixel is `sample_aspect_ratio`
/// wide for 1 high; the ratio comes from the peer, and a term of 0 counts as 1:1. At least one pixel; empty only if a
/// side of an argument is 0.
PictureRectangle fit(Size frame, Rational sample_aspect_ratio, Size surface) noexcept;

}  // namespace framewire
