#include "gl/blender.hpp"

#include <string>
#include <utility>

#include "shaders/embedded.hpp"

namespace framewire {

namespace {

constexpr int lines_before_blend_frag = 2;

std::string blend_fragment_source(BlendValues values) {
  return "#version 450 core\n#define LINEAR_LIGHT " +
         std::to_string(static_cast<int>(values == BlendValues::linear_light)) + "\n" +
         std::string(find_embedded_shader("blend.frag").value());
}

/// The factors of source and destination for the formulas of Blend. Alpha has the same ones: where that of the
/// destination is 1, all of them leave it there. For multiply, s d + d (1 - a), the shader outputs s + 1 - a: drivers
/// that blend in 8 bits then round one product and not two. So no colour makes it brighter, even if larger than its
/// alpha.
std::pair<GLenum, GLenum> blend_factors(Blend blend) noexcept {
  switch (blend) {
    case Blend::over:
      break;
    case Blend::add:
      return {GL_ONE, GL_ONE};
    case Blend::multiply:
      return {GL_DST_COLOR, GL_ZERO};
    case Blend::screen:
      return {GL_ONE, GL_ONE_MINUS_SRC_COLOR};
  }
  return {GL_ONE, GL_ONE_MINUS_SRC_ALPHA};
}

}  // namespace

Blender::Variant::Variant(BlendValues values)
    : program("blend.frag", find_embedded_shader("blend.vert").value(), blend_fragment_source(values),
              lines_before_blend_frag),
      size(program.uniform("size")),
      first_texel(program.uniform("first_texel")),
      opacity(program.uniform("opacity")),
      white(program.uniform("white")) {}

Blender::Blender()
    : coded_(BlendValues::coded), linear_light_(BlendValues::linear_light), vertex_array_(GlVertexArray::create()) {}

void Blender::draw(const BlendedPicture& picture, const Rectangle& damage) noexcept {
  const Rectangle drawn = common_part(picture.place, damage);
  if (is_empty(drawn) || picture.opacity <= 0) {
    return;
  }
  const Variant& variant = picture.values == BlendValues::linear_light ? linear_light_ : coded_;
  variant.program.use();
  glUniform2f(variant.size, static_cast<float>(drawn.width), static_cast<float>(drawn.height));
  glUniform2f(variant.first_texel, static_cast<float>(drawn.x - picture.place.x),
              static_cast<float>(drawn.y - picture.place.y));
  glUniform1f(variant.opacity, static_cast<float>(picture.opacity));
  glUniform1f(variant.white, picture.blend == Blend::multiply ? 1.0F : 0.0F);
  glViewport(drawn.x, drawn.y, drawn.width, drawn.height);
  glBindTextureUnit(0, picture.texture);
  glBindVertexArray(vertex_array_.id());
  const auto [source, destination] = blend_factors(picture.blend);
  glBlendFunc(source, destination);
  glEnable(GL_BLEND);
  glDrawArrays(GL_TRIANGLES, 0, 3);
  glDisable(GL_BLEND);
}

}  // namespace framewire
