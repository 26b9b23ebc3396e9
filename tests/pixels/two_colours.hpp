// What tests of readback draw, and what they expect in memory.
#pragma once

#include <cstddef>
#include <vector>

#include "gl/offscreen_target.hpp"

namespace framewire {

/// Colours the lower left part otherwise, so that exchanged rows and columns are noticed.
inline void draw_two_colours(const OffscreenTarget& target, float red) {
  target.bind();
  glDisable(GL_SCISSOR_TEST);
  glClearColor(red, 0.25F, 0.5F, 1.0F);
  glClear(GL_COLOR_BUFFER_BIT);
  glEnable(GL_SCISSOR_TEST);
  glScissor(0, 0, 11, 7);
  glClearColor(0.0F, 1.0F, red, 0.0F);
  glClear(GL_COLOR_BUFFER_BIT);
  glDisable(GL_SCISSOR_TEST);
}

/// The target's pixels with row 0 first, as Readback has them.
inline std::vector<std::byte> read_back(const OffscreenTarget& target) {
  std::vector<std::byte> pixels(target.size_bytes());
  target.read_rgba(pixels, OffscreenTarget::RowOrder::top_down);
  return pixels;
}

}  // namespace framewire
