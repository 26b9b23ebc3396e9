// Draws the textures of a frame.
#pragma once

#include <array>
#include <cstddef>

#include "base/text.hpp"
#include "gl/colour_conversion.hpp"
#include "gl/shader_program.hpp"
#include "gl/texture_planes.hpp"

namespace framewire {

/// The textures of one frame, as texture_planes() lists them, and how to interpret its values.
struct PaintedFrame {
  std::array<GLuint, max_texture_planes> textures{};
  std::size_t texture_count = 0;  // 0: nothing to draw
  Size size;
  int chroma_log2_width = 0;
  int chroma_log2_height = 0;
  ChromaSite chroma_site{};
  ColourConversion conversion{};
};

/// A rectangle of the framebuffer in pixels; x and y are its lower left corner, as in GL.
struct Rectangle {
  int x;
  int y;
  int width;
  int height;
};

/// How a frame is scaled down. `fast`: one bilinear sample per pixel, cheap enough for a CPU. `smooth`: the mean of up
/// to 4 x 4 samples, which covers every frame pixel down to an eighth of the frame's size.
enum class Minification { fast, smooth };

/// Used on the context's thread.
class FramePainter {
 public:
  /// Compiles the shaders. Throws ShaderError.
  explicit FramePainter(Minification minification);

  /// Draws into the current framebuffer, over what is there. At 1:1 every pixel is exact; other sizes are filtered.
  /// Changes the viewport, the program, the vertex array and texture units 0 to 2.
  void draw(const PaintedFrame& frame, const Rectangle& target, bool flip_y) const noexcept;

 private:
  enum class Mode { exact, bilinear, area };

  struct Variant {
    Variant(int planes, Mode mode);

    ShaderProgram program;
    int colour_matrix, colour_offset, place, chroma_place, chroma_shift, chroma_site, footprint, taps, chroma_taps;
  };

  [[nodiscard]] const Variant& variant_for(const PaintedFrame& frame, const Rectangle& target) const noexcept;

  Minification minification_;
  std::array<Variant, max_texture_planes> exact_;  // by number of textures, from 1
  std::array<Variant, max_texture_planes> bilinear_;
  std::array<Variant, max_texture_planes> area_;
  GlVertexArray vertex_array_;
  std::array<int, 2> max_viewport_{};
};

}  // namespace framewire
