#include "gl/frame_painter.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <utility>

#include "shaders/embedded.hpp"

namespace framewire {

namespace {

constexpr int lines_before_frame_frag = 6;

/// With more samples than this on an axis their number is not compiled in: such small pictures need few pixels.
constexpr int most_compiled_taps = 4;

float as_float(double value) noexcept {
  return static_cast<float>(value);
}

/// The length that a pixel covers on one axis, in texels. Near a whole number it is that: this changes a value by less
/// than 1/256, and takes fewer samples.
double covered_texels(double texels_per_pixel) noexcept {
  const double whole = std::round(texels_per_pixel);
  return whole >= 1 && std::abs(texels_per_pixel - whole) <= whole / 256 ? whole : texels_per_pixel;
}

/// The number of samples on one axis. `is_aligned`: the first pixel begins with a texel.
int taps_for(double texels_per_pixel, bool is_aligned, int texels_per_tap) noexcept {
  const double length = std::max(covered_texels(texels_per_pixel), 1.0);
  const bool begins_with_texels = is_aligned && texels_per_pixel == length && length == std::round(length);
  const double touched = begins_with_texels ? length : std::ceil(length) + 1;
  return static_cast<int>(std::ceil(touched / texels_per_tap));
}

/// What stands for a number of samples in the shader: the number, or for 0 the uniform of this name.
std::string taps_text(int x, int y, const std::string& uniform) {
  return x == 0 ? uniform : "ivec2(" + std::to_string(x) + ", " + std::to_string(y) + ")";
}

std::string fragment_source(std::size_t planes, int mode, int alpha, const std::string& taps,
                            const std::string& chroma_taps) {
  return "#version 450 core\n#define PLANES " + std::to_string(planes) + "\n#define MODE " + std::to_string(mode) +
         "\n#define ALPHA " + std::to_string(alpha) + "\n#define TAPS " + taps + "\n#define CHROMA_TAPS " +
         chroma_taps + "\n" + std::string(find_embedded_shader("frame.frag").value());
}

/// The part of `target` that fits a viewport. GL silently shrinks larger viewports, for example on a deep zoom.
Rectangle visible_part(const Rectangle& target, const std::array<int, 2>& max_viewport) noexcept {
  const auto clip = [](int at, int length, int limit) {
    const auto end = std::min<std::int64_t>(std::int64_t{at} + length, limit);
    const int start = std::clamp(at, 0, limit);
    return std::pair(start, static_cast<int>(std::max<std::int64_t>(end - start, 0)));
  };
  const auto [x, width] = clip(target.x, target.width, max_viewport[0]);
  const auto [y, height] = clip(target.y, target.height, max_viewport[1]);
  return {x, y, width, height};
}

/// `scale * a + shift` for both axes, in the form that the shaders use.
struct Mapping {
  double scale_x, scale_y, shift_x, shift_y;

  void set(int location) const noexcept {
    glUniform4f(location, as_float(scale_x), as_float(scale_y), as_float(shift_x), as_float(shift_y));
  }
};

/// From the visible part (0 … 1, from below) to the frame (0 … 1, from the top).
Mapping frame_mapping(const Rectangle& visible, const Rectangle& target, bool flip_y) noexcept {
  const double width = target.width;
  const double height = target.height;
  const double scale_y = visible.height / height;
  const double shift_y = (visible.y - target.y) / height;
  return {visible.width / width, flip_y ? scale_y : -scale_y, (visible.x - target.x) / width,
          flip_y ? shift_y : 1.0 - shift_y};
}

/// From the frame to its chroma texture. Textures put a sample in the middle of its texel, between both luma samples. A
/// sample that is co-sited with the first luma sample is a quarter of a texel before that. A frame with an odd size
/// ends in the middle of its last chroma texel.
Mapping chroma_mapping(const PaintedFrame& frame) noexcept {
  const double step_x = 1 << frame.chroma_log2_width;
  const double step_y = 1 << frame.chroma_log2_height;
  const double width = std::ceil(frame.size.width / step_x);
  const double height = std::ceil(frame.size.height / step_y);
  return {frame.size.width / step_x / width, frame.size.height / step_y / height,
          frame.chroma_log2_width == 0 ? 0.0 : 0.25 * (1 - frame.chroma_site.x_halves) / width,
          frame.chroma_log2_height == 0 ? 0.0 : 0.25 * (1 - frame.chroma_site.y_halves) / height};
}

}  // namespace

// ---- Shaders ----

FramePainter::Variant::Variant(const Kind& kind)
    : program("frame.frag", find_embedded_shader("frame.vert").value(),
              fragment_source(kind.planes, static_cast<int>(kind.mode), static_cast<int>(kind.alpha),
                              taps_text(kind.luma.x, kind.luma.y, "taps"),
                              taps_text(kind.chroma.x, kind.chroma.y, "chroma_taps")),
              lines_before_frame_frag),
      colour_matrix(program.uniform("colour_matrix")),
      colour_offset(program.uniform("colour_offset")),
      place(program.uniform("place")),
      chroma_place(program.uniform("chroma_place")),
      chroma_shift(program.uniform("chroma_shift")),
      chroma_site(program.uniform("chroma_site")),
      covered(program.uniform("covered")),
      chroma_covered(program.uniform("chroma_covered")),
      taps(program.uniform("taps")),
      chroma_taps(program.uniform("chroma_taps")) {}

FramePainter::FramePainter(Downscale downscale) : downscale_(downscale), vertex_array_(GlVertexArray::create()) {
  glGetIntegerv(GL_MAX_VIEWPORT_DIMS, max_viewport_.data());
}

/// The mean over the length of one texel is linear interpolation.
double FramePainter::covered_of(double texels_per_pixel) const noexcept {
  return downscale_ == Downscale::bilinear ? std::min(texels_per_pixel, 1.0) : covered_texels(texels_per_pixel);
}

/// With linear interpolation a pixel of a shrunk frame begins anywhere.
int FramePainter::taps_of(double texels_per_pixel, bool is_aligned, int texels_per_tap) const noexcept {
  const bool is_cut = downscale_ == Downscale::bilinear && texels_per_pixel > 1;
  return taps_for(is_cut ? 1.0 : texels_per_pixel, is_aligned && !is_cut, texels_per_tap);
}

FramePainter::Kind FramePainter::kind_for(const PaintedFrame& frame, const Rectangle& target,
                                          Alpha alpha) const noexcept {
  alpha = frame.has_alpha ? alpha : Alpha::premultiplied;
  const Size drawn{static_cast<std::uint32_t>(target.width), static_cast<std::uint32_t>(target.height)};
  if (frame.size == drawn) {
    return {.planes = frame.texture_count, .mode = Mode::exact, .alpha = alpha};
  }
  const double ratio_x = static_cast<double>(frame.size.width) / drawn.width;
  const double ratio_y = static_cast<double>(frame.size.height) / drawn.height;
  const int texels_per_tap = alpha == Alpha::straight ? 1 : 2;
  Kind kind{.planes = frame.texture_count,
            .mode = Mode::mean,
            .alpha = alpha,
            .luma = {taps_of(ratio_x, true, texels_per_tap), taps_of(ratio_y, true, texels_per_tap)}};
  if (frame.texture_count > 1) {
    const int step_x = 1 << frame.chroma_log2_width;
    const int step_y = 1 << frame.chroma_log2_height;
    kind.chroma = {taps_of(ratio_x / step_x, step_x == 1 || frame.chroma_site.x_halves == 1, texels_per_tap),
                   taps_of(ratio_y / step_y, step_y == 1 || frame.chroma_site.y_halves == 1, texels_per_tap)};
  }
  // The mean of two texels, and the values between two, are one sample in any case. (Straight colours take more: a
  // frame of another size has a pixel that covers two texels.)
  if (kind.luma == Taps{} && kind.chroma == Taps{}) {
    kind.mode = Mode::bilinear;
  }
  return kind;
}

const FramePainter::Variant& FramePainter::variant_for(Kind kind) {
  const auto compiled = [](const Taps& taps) {
    return std::max(taps.x, taps.y) <= most_compiled_taps ? taps : Taps{0, 0};
  };
  kind.luma = compiled(kind.luma);
  kind.chroma = compiled(kind.chroma);
  return variants_.try_emplace(kind, kind).first->second;
}

// ---- Drawing ----

void FramePainter::draw(const PaintedFrame& frame, const Rectangle& target, bool flip_y, Alpha alpha) {
  if (frame.texture_count == 0 || target.width <= 0 || target.height <= 0) {
    return;
  }
  const Rectangle visible = visible_part(target, max_viewport_);
  if (visible.width == 0 || visible.height == 0) {
    return;
  }
  const Kind kind = kind_for(frame, target, alpha);
  const Variant& variant = variant_for(kind);
  variant.program.use();
  glUniformMatrix3fv(variant.colour_matrix, 1, GL_FALSE, frame.conversion.matrix.data());
  glUniform3fv(variant.colour_offset, 1, frame.conversion.offset.data());
  glUniform2i(variant.chroma_shift, frame.chroma_log2_width, frame.chroma_log2_height);
  glUniform2i(variant.chroma_site, frame.chroma_site.x_halves, frame.chroma_site.y_halves);
  frame_mapping(visible, target, flip_y).set(variant.place);
  chroma_mapping(frame).set(variant.chroma_place);
  const double texels_x = static_cast<double>(frame.size.width) / target.width;
  const double texels_y = static_cast<double>(frame.size.height) / target.height;
  glUniform2f(variant.covered, as_float(covered_of(texels_x)), as_float(covered_of(texels_y)));
  glUniform2f(variant.chroma_covered, as_float(covered_of(texels_x / (1 << frame.chroma_log2_width))),
              as_float(covered_of(texels_y / (1 << frame.chroma_log2_height))));
  glUniform2i(variant.taps, kind.luma.x, kind.luma.y);
  glUniform2i(variant.chroma_taps, kind.chroma.x, kind.chroma.y);

  glViewport(visible.x, visible.y, visible.width, visible.height);
  glBindTextures(0, static_cast<GLsizei>(frame.texture_count), frame.textures.data());
  glBindVertexArray(vertex_array_.id());
  glDrawArrays(GL_TRIANGLES, 0, 3);
}

}  // namespace framewire
