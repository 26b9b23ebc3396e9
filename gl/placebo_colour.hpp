// How libplacebo names the colours of a frame. The only header that includes libplacebo's, and only for
// gl/placebo_painter.cpp.
#pragma once

#include <libplacebo/colorspace.h>

#include "frame/colour.hpp"
#include "frame/pixel_format.hpp"

namespace framewire {

/// Whether only libplacebo, and no ColourConversion, converts values with this matrix to RGB.
bool is_placebo_matrix(PixelFormat format, ColourMatrix matrix) noexcept;

/// How the values of a texture encode RGB: for matrices with is_placebo_matrix(). Those of others are RGB once
/// ColourConversion is applied.
pl_color_repr placebo_representation(PixelFormat format, const Colour& colour) noexcept;

/// The colours of a frame.
pl_color_space placebo_source(const Colour& colour) noexcept;

/// The colours to draw a frame in; equal to the `source` if its values go to the screen as they are coded.
pl_color_space placebo_target(const pl_color_space& source) noexcept;

}  // namespace framewire
