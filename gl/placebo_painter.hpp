// Draws the textures of a frame in good quality, by libplacebo.
#pragma once

#include <memory>

#include "base/text.hpp"
#include "frame/colour.hpp"
#include "frame/pixel_format.hpp"
#include "gl/frame_painter.hpp"

namespace framewire {

/// Draws what FramePainter draws, and better in three ways:
///   - Frames are scaled by filters that hardly alias or blur: Lanczos up, Mitchell down, in coded values as there.
///   - HDR (PQ, HLG) up to 1000 cd/m² is mapped to what a usual screen shows; brighter parts are clipped. Wide gamuts
///     and linear light are mapped, too. All other colours stay as coded.
///   - What is scaled or mapped, or has more than 8 bits, is dithered.
/// At 1:1, a pixel that is not mapped is within 1/255 of the standards' value, or 1.5/255 if it is dithered. Three more
/// matrices are converted: ycgco, bt2020c, ictcp. At most one painter per context. Used on the context's thread.
class PlaceboPainter {
 public:
  /// Needs a current context, and it or one that shares its objects until the destructor has run. Throws Error (failed)
  /// if libplacebo cannot use it, and ShaderError.
  PlaceboPainter();
  ~PlaceboPainter();
  PlaceboPainter(const PlaceboPainter&) = delete;
  PlaceboPainter& operator=(const PlaceboPainter&) = delete;

  /// Draws into the current framebuffer, which has the size `framebuffer`, over what is there; see FramePainter::draw
  /// for the rest. Changes no pixel outside the target, which may lie partly outside the framebuffer. The first frame
  /// of each kind compiles shaders, for up to half a second. False: libplacebo, or GL for lack of memory, could not.
  /// Throws ShaderError.
  ///
  /// Alpha comes out as it went in if blending is off. If it is on, the frame is laid over what is there by its
  /// straight alpha, whatever the blend function is.
  ///
  /// Expects GL's initial state of the colour mask, samplers and unpacking. Changes the program, the vertex array and
  /// the texture units, and leaves the scissor, depth and face tests off. Blending, the viewport, the framebuffer and
  /// the textures' filters are afterwards as before.
  [[nodiscard]] bool draw(const PaintedFrame& frame, PixelFormat format, const Colour& colour, const Rectangle& target,
                          Size framebuffer, bool flip_y);

  /// Lets go of the textures and the framebuffer of earlier frames. Otherwise the memory of deleted textures stays in
  /// use until others are drawn.
  void forget_textures() noexcept;

 private:
  struct Order;
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace framewire
