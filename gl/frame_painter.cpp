#include "gl/frame_painter.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <utility>

#include "shaders/embedded.hpp"

namespace framewire {

namespace {

constexpr int lines_before_frame_frag = 3;

std::string fragment_source(int planes, int mode) {
  return "#version 450 core\n#define PLANES " + std::to_string(planes) + "\n#define MODE " + std::to_string(mode) +
         "\n" + std::string(find_embedded_shader("frame.frag").value());
}

/// The number of bilinear samples for `source_pixels` that become one pixel: each sample covers two.
int taps_for(double source_pixels) noexcept {
  constexpr int most = 4;
  return std::clamp(static_cast<int>(std::ceil(source_pixels / 2.0)), 1, most);
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
    glUniform4f(location, static_cast<float>(scale_x), static_cast<float>(scale_y), static_cast<float>(shift_x),
                static_cast<float>(shift_y));
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

FramePainter::Variant::Variant(int planes, Mode mode)
    : program("frame.frag", find_embedded_shader("frame.vert").value(), fragment_source(planes, static_cast<int>(mode)),
              lines_before_frame_frag),
      colour_matrix(program.uniform("colour_matrix")),
      colour_offset(program.uniform("colour_offset")),
      place(program.uniform("place")),
      chroma_place(program.uniform("chroma_place")),
      chroma_shift(program.uniform("chroma_shift")),
      chroma_site(program.uniform("chroma_site")),
      footprint(program.uniform("footprint")),
      taps(program.uniform("taps")),
      chroma_taps(program.uniform("chroma_taps")) {}

FramePainter::FramePainter(Minification minification)
    : minification_(minification),
      exact_{Variant(1, Mode::exact), Variant(2, Mode::exact), Variant(3, Mode::exact)},
      bilinear_{Variant(1, Mode::bilinear), Variant(2, Mode::bilinear), Variant(3, Mode::bilinear)},
      area_{Variant(1, Mode::area), Variant(2, Mode::area), Variant(3, Mode::area)},
      vertex_array_(GlVertexArray::create()) {
  glGetIntegerv(GL_MAX_VIEWPORT_DIMS, max_viewport_.data());
}

const FramePainter::Variant& FramePainter::variant_for(const PaintedFrame& frame,
                                                       const Rectangle& target) const noexcept {
  const auto width = static_cast<std::uint32_t>(target.width);
  const auto height = static_cast<std::uint32_t>(target.height);
  if (frame.size == Size{width, height}) {
    return exact_.at(frame.texture_count - 1);
  }
  // A bilinear sample reads two pixels per axis, so it is correct until a drawn pixel covers more.
  const bool is_dense = frame.size.width > 2 * width || frame.size.height > 2 * height;
  return is_dense && minification_ == Minification::smooth ? area_.at(frame.texture_count - 1)
                                                           : bilinear_.at(frame.texture_count - 1);
}

void FramePainter::draw(const PaintedFrame& frame, const Rectangle& target, bool flip_y) const noexcept {
  if (frame.texture_count == 0 || target.width <= 0 || target.height <= 0) {
    return;
  }
  const Rectangle visible = visible_part(target, max_viewport_);
  if (visible.width == 0 || visible.height == 0) {
    return;
  }
  const Variant& variant = variant_for(frame, target);
  variant.program.use();
  glUniformMatrix3fv(variant.colour_matrix, 1, GL_FALSE, frame.conversion.matrix.data());
  glUniform3fv(variant.colour_offset, 1, frame.conversion.offset.data());
  glUniform2i(variant.chroma_shift, frame.chroma_log2_width, frame.chroma_log2_height);
  glUniform2i(variant.chroma_site, frame.chroma_site.x_halves, frame.chroma_site.y_halves);
  frame_mapping(visible, target, flip_y).set(variant.place);
  const Mapping chroma = chroma_mapping(frame);
  chroma.set(variant.chroma_place);
  const double pixel_x = 1.0 / target.width;
  const double pixel_y = 1.0 / target.height;
  Mapping{pixel_x, pixel_y, pixel_x * chroma.scale_x, pixel_y * chroma.scale_y}.set(variant.footprint);
  const double source_x = frame.size.width * pixel_x;
  const double source_y = frame.size.height * pixel_y;
  glUniform2i(variant.taps, taps_for(source_x), taps_for(source_y));
  glUniform2i(variant.chroma_taps, taps_for(source_x / (1 << frame.chroma_log2_width)),
              taps_for(source_y / (1 << frame.chroma_log2_height)));

  glViewport(visible.x, visible.y, visible.width, visible.height);
  glBindTextures(0, static_cast<GLsizei>(frame.texture_count), frame.textures.data());
  glBindVertexArray(vertex_array_.id());
  glDrawArrays(GL_TRIANGLES, 0, 3);
}

}  // namespace framewire
