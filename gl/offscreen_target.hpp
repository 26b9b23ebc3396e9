// Something to draw into that is no window.
#pragma once

#include <cstddef>
#include <span>

#include "base/text.hpp"
#include "gl/handle.hpp"

namespace framewire {

/// A framebuffer of 8-bit RGBA. The context's thread.
class OffscreenTarget {
 public:
  /// Throws Error (failed) for a size that the driver does not take.
  explicit OffscreenTarget(Size size);

  /// Draws and reads go here from now on; the viewport is the whole target.
  void bind() const noexcept;

  /// How the picture was drawn: the first row of memory is always its top row, and GL's rows run from the bottom.
  enum class Drawn { as_window, flipped };

  /// Waits for what was drawn and writes width * height * 4 bytes, top row first, into `pixels` (at least that large).
  /// `flipped` says that it was drawn with flip_y, which saves turning the rows over here. Leaves the target bound.
  void read_rgba(std::span<std::byte> pixels, Drawn drawn = Drawn::as_window) const noexcept;

  [[nodiscard]] Size size() const noexcept { return size_; }
  [[nodiscard]] std::size_t size_bytes() const noexcept { return std::size_t{size_.width} * size_.height * 4; }
  [[nodiscard]] GLuint framebuffer() const noexcept { return framebuffer_.id(); }
  [[nodiscard]] GLuint texture() const noexcept { return texture_.id(); }

 private:
  Size size_;
  GlTexture texture_;
  GlFramebuffer framebuffer_;
};

}  // namespace framewire
