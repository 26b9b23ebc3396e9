// Renders a scene and its counter: in the pixel format to send, or as a texture.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/text.hpp"
#include "frame/frame_layout.hpp"
#include "gl/frame_counter.hpp"
#include "gl/offscreen_target.hpp"
#include "gl/readback.hpp"
#include "gl/scene_program.hpp"
#include "gl/shader_scene.hpp"

namespace framewire {

/// How a picture becomes YUV.
enum class ConvertBy {
  drawing,    // by a fragment shader, whose picture is read back
  computing,  // by a compute shader, which writes into the buffer that frames go to; where it cannot, by drawing
};

/// Used on the context's thread.
class SceneRenderer final : public ReadbackSource {
 public:
  /// Formats: RGB of four bytes a pixel, rgba+grayf32le, and YUV with chroma of half the width in planes of its own
  /// (nv12, yuv420p, p010le and their kind). Those of more than 8 bits are rendered in 16. Throws Error: a shader that
  /// does not compile, or has no depth where the format has one, another format, or a size that the format or the
  /// driver does not support (YUV needs a width that is a multiple of 8, and 4:2:0 an even height).
  SceneRenderer(const ShaderScene& scene, Size size, PixelFormat format, ConvertBy way = ConvertBy::computing);

  /// Draws one frame and leaves a read framebuffer bound. Its lower left readback_size() pixels, read as RGBA8, are the
  /// payload of the frame byte by byte, in packed_layout().
  void draw(const SceneUniforms& moment) const noexcept;

  /// As draw(), for a Readback, which gets what is returned: its source, or null, when all is drawn.
  [[nodiscard]] const ReadbackSource* draw_for_readback(const SceneUniforms& moment) const noexcept;

  /// As draw(), where the picture itself is all that is wanted: nothing is converted.
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

  void draw_bytes() const noexcept override;
  [[nodiscard]] bool can_write(std::uint64_t offset_bytes) const noexcept override;
  void write_rows(GLuint buffer, std::uint64_t offset_bytes, std::uint32_t first,
                  std::uint32_t end) const noexcept override;

 private:
  struct Computation {
    ShaderProgram program;
    int rows;                       // a uniform
    std::uint64_t alignment_bytes;  // of where a frame begins in a buffer
  };
  struct Conversion {
    ShaderProgram program;
    OffscreenTarget target;
    GlVertexArray no_vertices;
  };

  void convert_by(std::string_view shader, std::string_view fragment_source, Size size);
  void compute_by(std::string_view source);
  [[nodiscard]] std::size_t readback_bytes() const noexcept {
    return std::size_t{readback_size_.width} * readback_size_.height * 4;
  }

  PixelFormat format_;
  SceneProgram scene_;
  FrameCounter counter_;
  OffscreenTarget picture_;
  std::optional<Conversion> conversion_;
  std::optional<Computation> computation_;
  Size readback_size_;
};

}  // namespace framewire
