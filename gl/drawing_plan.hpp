// Which part of a frame is drawn where, for painters that cannot cut a frame between its pixels.
#pragma once

#include <optional>

#include "base/text.hpp"
#include "gl/frame_painter.hpp"

namespace framewire {

struct Interval {
  double begin = 0;
  double end = 0;
  [[nodiscard]] double length() const noexcept { return end - begin; }
};

struct DrawingPlan {
  Interval source_x;  // in the frame's pixels, from its top left
  Interval source_y;
  Interval
      target_x;  // in pixels of the framebuffer, or of the detour; y runs from the top, with flip_y from GL's row 0
  Interval target_y;
  std::optional<Rectangle>
      detour;  // draw to a texture of this size, then copy that to this place, flipped as the frame
  bool is_visible = false;
  bool is_scaled = false;
  bool is_scaled_down = false;  // on both axes
};

/// If the framebuffer cuts a scaled frame, more than is visible goes to a detour, so that the filter has what it needs.
/// The source may then end beyond the frame. Only where pixels are drawn so large that the detour's texture would be
/// too large, there is none; a part of less than one pixel is then the pixel in its middle.
DrawingPlan plan_drawing(Size frame, const Rectangle& target, Size framebuffer, bool flip_y) noexcept;

}  // namespace framewire
