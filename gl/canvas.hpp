// Where several pictures are put together, before the result is shown.
#pragma once

#include "base/text.hpp"
#include "gl/blend.hpp"
#include "gl/handle.hpp"
#include "gl/offscreen_target.hpp"
#include "gl/rectangle.hpp"

namespace framewire {

/// A picture of 8-bit RGBA that stays from frame to frame, so that only what changes is drawn again. It holds coded
/// values, and is drawn into as such or as linear light: the driver then decodes what is there and encodes the result,
/// by the curve of sRGB. Used on the context's thread.
class Canvas {
 public:
  /// Black and opaque. Throws Error (failed) for a size that the driver does not support.
  explicit Canvas(Size size);

  /// While one lives, what is drawn goes to the canvas. It binds the canvas for drawing and sets the viewport to all of
  /// it. Its end binds the framebuffer for drawing that was bound before, and turns GL_FRAMEBUFFER_SRGB off, which is
  /// on only for linear light. It does not restore the viewport. The canvas must live longer.
  class Drawing {
   public:
    ~Drawing();
    Drawing(const Drawing&) = delete;
    Drawing& operator=(const Drawing&) = delete;

   private:
    friend class Canvas;
    Drawing(GLuint framebuffer, Size size, BlendValues values) noexcept;

    GLuint framebuffer_before_;
  };
  [[nodiscard]] Drawing draw(BlendValues values) const noexcept;

  /// Makes a part black and opaque, whatever is bound. What lies outside the canvas does not count.
  void clear(const Rectangle& part) noexcept;

  /// Copies a part to the same place of the framebuffer that is bound for drawing, value by value. What lies outside
  /// the canvas or that framebuffer is left out; the scissor test does not count. Needs GL_FRAMEBUFFER_SRGB off.
  /// Changes no state.
  void show(const Rectangle& part) const noexcept;

  /// Copies all of it to a place in `target`, scaled if that has another size. The target becomes opaque, and black
  /// around the place. Its top row is row 0 there, as files have it (RowOrder::top_down). Needs GL_FRAMEBUFFER_SRGB
  /// off. Changes no state.
  void copy_to(const OffscreenTarget& target, const Rectangle& place) const noexcept;

  [[nodiscard]] Size size() const noexcept { return size_; }
  [[nodiscard]] GLuint texture() const noexcept { return texture_.id(); }

 private:
  /// The part of a rectangle that lies in the canvas.
  [[nodiscard]] Rectangle inside(const Rectangle& part) const noexcept;

  Size size_;
  GlTexture texture_;
  GlTextureView linear_view_;  // of the same memory
  GlFramebuffer coded_;
  GlFramebuffer linear_;
};

}  // namespace framewire
