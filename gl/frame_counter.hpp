// Draws the counter over a scene.
#pragma once

#include <cstdint>

#include "base/text.hpp"
#include "gl/handle.hpp"
#include "gl/shader_program.hpp"

namespace framewire {

/// Used on the context's thread.
class FrameCounter {
 public:
  FrameCounter();

  /// Draws "frame 001234 20.57 s" into the top left of the bound framebuffer of `size`, whose row 0 is the picture's
  /// top row (counter_text.hpp defines the position). Grey, so the component order does not matter. Leaves the viewport
  /// at the picture's size.
  void draw(Size size, std::uint64_t frame, double time_s) const noexcept;

 private:
  ShaderProgram program_;
  GlVertexArray no_vertices_;
  struct {
    int dots, characters, start, scale;
  } uniforms_;
};

}  // namespace framewire
