// Draws the textures of a frame in good quality, by libplacebo.
#pragma once

#include <memory>

#include "base/text.hpp"
#include "frame/colour.hpp"
#include "frame/pixel_format.hpp"
#include "gl/frame_painter.hpp"

namespace framewire {

/// Draws what FramePainter draws, and three things better. Frames are scaled with filters that neither alias nor blur
/// (Lanczos up, Mitchell down). What has more than 8 bits, or is scaled, is dithered. HDR (PQ, HLG) is mapped to the
/// brightness and the colours of a usual screen, and so are wide gamuts and linear light; other colours stay as coded.
/// At 1:1 these others are within 1/255 of the standards' value, or 1.5/255 where they are dithered. libplacebo also
/// has matrices that luma weights do not describe: ycgco, bt2020c, ictcp. At most one per context. Used on the
/// context's thread.
class PlaceboPainter {
 public:
  /// Needs a current context, and it or one that shares its objects until the destructor has run. Throws Error (failed)
  /// if libplacebo cannot use it, and ShaderError.
  PlaceboPainter();
  ~PlaceboPainter();
  PlaceboPainter(const PlaceboPainter&) = delete;
  PlaceboPainter& operator=(const PlaceboPainter&) = delete;

  /// Draws into the current framebuffer, which has the size `framebuffer`, over what is there; see FramePainter::draw.
  /// Changes nothing outside the target, which may lie partly outside the framebuffer. Without blending, alpha comes
  /// out as it went in; with it enabled, the frame is laid over what is there by its straight alpha, whichever blend
  /// function is set. The first frame of a kind compiles shaders, for 40 to 250 ms. False: libplacebo could not draw.
  ///
  /// Expects what GL begins with for writing colours, unpacking pixels and samplers. Leaves no program, no vertex array
  /// and no buffers bound, the scissor, depth and face tests off, and texture unit 0 active and units empty. The
  /// viewport, the bound framebuffer, blending and the textures' filters are as they were.
  [[nodiscard]] bool draw(const PaintedFrame& frame, PixelFormat format, const Colour& colour, const Rectangle& target,
                          Size framebuffer, bool flip_y) noexcept;

  /// Lets go of the textures and the framebuffer of earlier frames. Otherwise the memory of deleted textures stays in
  /// use until others are drawn.
  void forget_textures() noexcept;

 private:
  struct Order;
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace framewire
