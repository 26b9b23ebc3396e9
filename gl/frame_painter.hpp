// Draws the textures of a frame.
#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <map>

#include "base/text.hpp"
#include "gl/blend.hpp"
#include "gl/colour_conversion.hpp"
#include "gl/rectangle.hpp"
#include "gl/shader_program.hpp"
#include "gl/texture_planes.hpp"

namespace framewire {

/// The textures of one frame's colours, as texture_planes() lists them, and how to interpret its values.
struct PaintedFrame {
  std::array<GLuint, max_texture_planes> textures{};
  std::size_t texture_count = 0;  // 0: nothing to draw
  GLuint depth_texture = 0;       // no painter reads it; 0: the frame has no depth
  Size size;
  int chroma_log2_width = 0;
  int chroma_log2_height = 0;
  ChromaSite chroma_site{};
  bool has_alpha = false;  // else it is 1
  ColourConversion conversion{};
};

/// How FramePainter shrinks a frame.
enum class Downscale {
  area,      // each pixel is the mean of what it covers
  bilinear,  // each pixel is one sample of each plane, between four texels: cheap, and fine detail is lost or flickers
};

/// Applies the matrix and the range, but not the transfer function or the primaries (no tone mapping). At 1:1 every
/// pixel is within 1/255 of the standards' value. Chroma of 4:2:0 and 4:2:2 is interpolated linearly, sited by
/// PaintedFrame::chroma_site. Used on the context's thread.
class FramePainter {
 public:
  /// Throws Error if GL has no memory.
  explicit FramePainter(Downscale downscale = Downscale::area);

  /// Draws into the current framebuffer, over what is there; blends only if the caller has enabled blending. The
  /// frame's top row is drawn at the top of a window. With `flip_y` it becomes the framebuffer's row 0, which suits
  /// readback. Alpha is the frame's for rgba and bgra, else 1. At 1:1 every pixel is exact. An enlarged frame is
  /// interpolated linearly. In a shrunk one each pixel is the mean of what it covers of the frame, by area, at every
  /// ratio, or with Downscale::bilinear interpolated linearly, too; each axis and the chroma of 4:2:0 and 4:2:2 are
  /// enlarged or shrunk on their own. The first frame of a shape, a ratio and an `alpha` compiles a shader. Throws
  /// ShaderError.
  ///
  /// `alpha` says what the frame's alpha means. What is drawn is opaque, or its colours are multiplied by its alpha.
  /// Straight colours are multiplied before they are scaled, so that those of transparent pixels leave no fringes.
  /// Frames without alpha are opaque, and cost nothing more.
  ///
  /// Changes the viewport, the program, the vertex array and texture units 0 to 2.
  void draw(const PaintedFrame& frame, const Rectangle& target, bool flip_y, Alpha alpha = Alpha::premultiplied);

 private:
  /// How a pixel is computed. The numbers are those of shaders/frame.frag.
  enum class Mode { exact, bilinear, mean };

  /// How many samples one axis takes. Each covers two texels; or one, if its colours have to be multiplied first.
  struct Taps {
    int x = 1;
    int y = 1;
    // NOLINTNEXTLINE(modernize-use-nullptr): clang-tidy 14 means the zero that the compiler compares with
    auto operator<=>(const Taps&) const = default;
  };

  /// What a shader is made for.
  struct Kind {
    std::size_t planes;
    Mode mode;
    Alpha alpha;  // its numbers, too, are those of shaders/frame.frag
    Taps luma{};
    Taps chroma{};
    // NOLINTNEXTLINE(modernize-use-nullptr): clang-tidy 14 means the zero that the compiler compares with
    auto operator<=>(const Kind&) const = default;
  };

  struct Variant {
    explicit Variant(const Kind& kind);

    ShaderProgram program;
    int colour_matrix, colour_offset, place, chroma_place, chroma_shift, chroma_site, covered, chroma_covered, taps,
        chroma_taps;
  };

  /// How many texels a pixel covers on an axis of which it has so many.
  [[nodiscard]] double covered_of(double texels_per_pixel) const noexcept;
  [[nodiscard]] int taps_of(double texels_per_pixel, bool is_aligned, int texels_per_tap) const noexcept;
  [[nodiscard]] Kind kind_for(const PaintedFrame& frame, const Rectangle& target, Alpha alpha) const noexcept;
  const Variant& variant_for(Kind kind);

  const Downscale downscale_;
  std::map<Kind, Variant> variants_;
  GlVertexArray vertex_array_;
  std::array<int, 2> max_viewport_{};
};

}  // namespace framewire
