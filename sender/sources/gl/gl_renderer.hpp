// Renders a scene and its counter in the pixel format to send.
#pragma once

#include <optional>
#include <string>

#include "base/text.hpp"
#include "frame/frame_layout.hpp"
#include "gl/offscreen_target.hpp"
#include "sender/sources/gl/frame_counter.hpp"
#include "sender/sources/gl/scene_program.hpp"
#include "sender/sources/gl/shader_scene.hpp"

namespace framewire {

/// Used on the context's thread.
class GlRenderer {
 public:
  /// Formats: rgba, bgra, rgb0, bgr0, nv12, yuv420p. Throws Error: a shader that does not compile, another format, or a
  /// size that the format or the driver does not support (nv12 and yuv420p need a width that is a multiple of 8 and an
  /// even height).
  GlRenderer(const ShaderScene& scene, Size size, PixelFormat format);

  /// Draws one frame and leaves a read framebuffer bound. Its lower left readback_size() pixels, read as RGBA8, are the
  /// payload of the frame byte by byte, in packed_layout().
  void draw(const SceneUniforms& moment) const noexcept;

  [[nodiscard]] Size readback_size() const noexcept { return readback_size_; }
  [[nodiscard]] Size size() const noexcept { return picture_.size(); }
  [[nodiscard]] FrameLayout layout() const { return packed_layout(format_, size().width, size().height); }
  [[nodiscard]] Colour colour() const noexcept;

 private:
  struct Conversion {
    ShaderProgram program;
    OffscreenTarget target;
    GlVertexArray no_vertices;
  };

  PixelFormat format_;
  SceneProgram scene_;
  FrameCounter counter_;
  OffscreenTarget picture_;
  std::optional<Conversion> conversion_;
  Size readback_size_;
};

}  // namespace framewire
