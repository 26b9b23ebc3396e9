// What draws the pictures of all layers.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "frame/colour.hpp"
#include "frame/pixel_format.hpp"
#include "gl/frame_painter.hpp"
#include "gl/placebo_painter.hpp"
#include "viewer/quality.hpp"

namespace framewire {

inline constexpr std::string_view lost_context = "the GPU draws no more (its OpenGL context is lost)";
/// For the user: what find_gl_loss() has found, and what to do.
std::string explain_gpu_loss(const std::string& loss);

/// Draws pictures in both qualities. Compiled shaders are kept for all layers. Used on the drawing thread.
class Painters {
 public:
  /// `downscale`: of what is drawn fast. Throws Error if GL has no memory.
  explicit Painters(Downscale downscale = Downscale::area);
  Painters(const Painters&) = delete;
  Painters& operator=(const Painters&) = delete;

  /// What is drawn, and as what.
  struct Picture {
    const PaintedFrame& frame;
    PixelFormat format;
    Colour colour;
  };

  /// Whether pictures of this colour are drawn well. No `wanted`: if a GPU draws.
  [[nodiscard]] bool draws_well(std::optional<Quality> wanted, const Colour& colour) const noexcept;

  /// Draws well, and opaque, if that is possible. Returns whether it was: else nothing is drawn, and take_warning()
  /// has the reason; do not try this stream again. Throws ShaderError, and Error (failed) if good quality was
  /// `wanted` or the GPU is lost.
  bool draw_well(const Picture& picture, const Rectangle& target, Size framebuffer, std::optional<Quality> wanted);
  /// Throws ShaderError.
  void draw_fast(const Picture& picture, const Rectangle& target, Alpha alpha = Alpha::opaque) {
    fast_.draw(picture.frame, target, false, alpha);
  }

  /// Textures were deleted.
  void forget_textures() noexcept;

  /// That libplacebo cannot be used, and why, once; else empty.
  std::string take_warning() noexcept { return std::exchange(warning_, {}); }

 private:
  const bool is_software_;
  FramePainter fast_;
  std::unique_ptr<PlaceboPainter> good_;  // made when it is needed first
  bool has_good_failed_ = false;          // libplacebo does not work here at all
  std::string warning_;
};

}  // namespace framewire
