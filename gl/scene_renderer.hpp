// Renders a scene and its counter: in the pixel format to send, or as a texture.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/text.hpp"
#include "frame/frame_layout.hpp"
#include "gl/frame_counter.hpp"
#include "gl/offscreen_target.hpp"
#include "gl/scene_program.hpp"
#include "gl/shader_scene.hpp"

namespace framewire {

/// Used on the context's thread.
class SceneRenderer {
 public:
  /// Formats: RGB of four bytes a pixel, rgba+grayf32le, and YUV with chroma of half the width in planes of its own
  /// (nv12, yuv420p, p010le and their kind). Those of more than 8 bits are rendered in 16. Throws Error: a shader that
  /// does not compile, or has no depth where the format has one, another format, or a size that the format or the
  /// driver does not support (YUV needs a width that is a multiple of 8, and 4:2:0 an even height).
  SceneRenderer(const ShaderScene& scene, Size size, PixelFormat format);

  /// Draws one frame and leaves a read framebuffer bound. Its lower left readback_size() pixels, read as RGBA8, are the
  /// payload of the frame byte by byte, in packed_layout().
  void draw(const SceneUniforms& moment) const noexcept;

  /// As draw(), where the picture itself is all that is wanted: nothing is converted. Its format is one of RGB.
  void draw_picture(const SceneUniforms& moment) const noexcept;
  /// The picture, row 0 at its top, opaque.
  [[nodiscard]] GLuint texture() const noexcept { return picture_.texture(); }

  [[nodiscard]] Size readback_size() const noexcept { return readback_size_; }
  [[nodiscard]] Size size() const noexcept { return picture_.size(); }
  [[nodiscard]] FrameLayout layout() const { return packed_layout(format_, size().width, size().height); }
  [[nodiscard]] Colour colour() const noexcept;
  /// Of the formats of RGB.
  static constexpr Colour rgb_colour() noexcept {
    return {.matrix = ColourMatrix::rgb,
            .range = ColourRange::full,
            .transfer = ColourTransfer::srgb,
            .primaries = ColourPrimaries::bt709};
  }

 private:
  struct Conversion {
    ShaderProgram program;
    OffscreenTarget target;
    GlVertexArray no_vertices;
  };

  void convert_by(std::string_view shader, std::string_view fragment_source, Size size);

  PixelFormat format_;
  SceneProgram scene_;
  FrameCounter counter_;
  OffscreenTarget picture_;
  std::optional<Conversion> conversion_;
  Size readback_size_;
};

}  // namespace framewire
