// Puts pictures with depth together: of each pixel the nearest one.
#pragma once

#include <cstddef>
#include <optional>
#include <span>

#include "base/text.hpp"
#include "gl/handle.hpp"
#include "gl/offscreen_target.hpp"
#include "gl/shader_program.hpp"

namespace framewire {

/// The textures of a picture, row 0 at its top: colours, and how far each pixel is (has_depth() in
/// frame/pixel_format.hpp).
struct DepthPicture {
  GLuint colour = 0;
  GLuint depth = 0;
};

/// Merges pictures of one size, pixel by pixel: no pixel is scaled, blended or averaged, and alpha is ignored. The
/// nearer one wins if it is strictly nearer; else the earlier one. Infinity and NaN are behind everything: where all
/// pictures have nothing, the first one is seen. Used on the context's thread.
class DepthMerger {
 public:
  static constexpr std::size_t most_pictures = 8;  // each needs two of the 16 texture units that OpenGL 4.5 promises

  /// Throws Error if GL has no memory.
  DepthMerger();

  /// 1 to most_pictures of `size`. Throws Error for a size that the driver does not support. Changes the viewport, the
  /// program, the vertex array, the bound framebuffer and all texture units.
  void merge(Size size, std::span<const DepthPicture> pictures);

  /// The merged picture, row 0 at its top, opaque; 0 before the first.
  [[nodiscard]] GLuint texture() const noexcept { return target_ ? target_->texture() : 0; }
  [[nodiscard]] Size size() const noexcept { return target_ ? target_->size() : Size{}; }
  [[nodiscard]] const std::optional<OffscreenTarget>& target() const noexcept { return target_; }

 private:
  ShaderProgram program_;
  GlVertexArray no_vertices_;
  std::optional<OffscreenTarget> target_;
};

}  // namespace framewire
