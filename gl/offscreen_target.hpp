// A render target without a window.
#pragma once

#include <cstddef>
#include <span>

#include "base/text.hpp"
#include "gl/handle.hpp"

namespace framewire {

/// A framebuffer of RGBA, and a second target of 32-bit floats if that is asked for. Used on the context's thread.
class OffscreenTarget {
 public:
  /// Throws Error (failed) for a size that the driver does not support.
  explicit OffscreenTarget(Size size, bool has_depth = false, GLenum colour_format = GL_RGBA8);

  /// Binds it for drawing and reading, and sets the viewport to the whole target.
  void bind() const noexcept;

  /// In which order the picture's rows lie in the target. GL numbers them from the bottom, so that a picture which is
  /// drawn as in a window lies there bottom_up. One that is drawn with flip_y lies there top_down.
  enum class RowOrder { bottom_up, top_down };

  /// Waits for drawing to finish and writes width * height * 4 bytes, top row first, into `pixels` (at least that
  /// large). Leaves the target bound.
  void read_rgba(std::span<std::byte> pixels, RowOrder order = RowOrder::bottom_up) const noexcept;

  [[nodiscard]] Size size() const noexcept { return size_; }
  /// Of read_rgba().
  [[nodiscard]] std::size_t size_bytes() const noexcept { return std::size_t{size_.width} * size_.height * 4; }
  [[nodiscard]] GLuint framebuffer() const noexcept { return framebuffer_.id(); }
  [[nodiscard]] GLuint texture() const noexcept { return texture_.id(); }
  /// Of the floats, which a shader writes as its output 1; 0: there are none.
  [[nodiscard]] GLuint depth_texture() const noexcept { return depth_.id(); }

 private:
  Size size_;
  GlTexture texture_;
  GlTexture depth_;
  GlFramebuffer framebuffer_;
};

}  // namespace framewire
