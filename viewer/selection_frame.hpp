// The frame of the layer that the user arranges.
#pragma once

#include <string>

#include "viewer/fit.hpp"
#include "viewer/overlay.hpp"

namespace framewire {

struct SelectionFrame {
  bool is_hidden = false;  // the layer: there is only its frame, with dashes
  std::string text{};      // in the middle; may be empty
};

/// Draws a thin frame around `box`, with marks at its corners. Call it between Overlay::begin() and finish().
void draw_selection_frame(const Overlay& overlay, const PictureRectangle& box, const SelectionFrame& frame);

}  // namespace framewire
