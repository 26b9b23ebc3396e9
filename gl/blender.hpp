// Lays one picture over others.
#pragma once

#include "gl/blend.hpp"
#include "gl/handle.hpp"
#include "gl/rectangle.hpp"
#include "gl/shader_program.hpp"

namespace framewire {

/// A picture of 8-bit RGBA in coded values, and how to lay it over others.
struct BlendedPicture {
  /// The colours are multiplied by their alpha, or opaque. At least as large as `place`.
  GLuint texture = 0;
  Rectangle place{};  // texel (0, 0) goes to its lower left pixel, and every texel to one pixel
  Blend blend = Blend::over;
  double opacity = 1;  // 0 to 1: the picture's colours and its alpha are multiplied by it
  BlendValues values = BlendValues::coded;
};

/// Used on the context's thread.
class Blender {
 public:
  /// Throws ShaderError.
  Blender();

  /// Lays the part of a picture that lies in `damage` over the current framebuffer, whose alpha must be 1 and stays so.
  /// For linear light the framebuffer must decode and encode by itself, as that of Canvas::draw does. Values are
  /// correctly rounded in coded values with opacity 1, and otherwise at most 1/255 beside that, because drivers may
  /// blend in 8 bits and compute the curve roughly. With opacity 0 nothing changes.
  ///
  /// Expects GL's initial state of the blend equation, the colour mask and texture unit 0's sampler. Changes the
  /// viewport, the program, the vertex array, texture unit 0 and the blend function, and leaves blending off.
  void draw(const BlendedPicture& picture, const Rectangle& damage) noexcept;

 private:
  struct Variant {
    explicit Variant(BlendValues values);

    ShaderProgram program;
    int size, first_texel, opacity, white;
  };

  Variant coded_;
  Variant linear_light_;
  GlVertexArray vertex_array_;
};

}  // namespace framewire
