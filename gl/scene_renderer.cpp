#include "gl/scene_renderer.hpp"

#include <utility>

#include "base/error.hpp"
#include "shaders/embedded.hpp"

namespace framewire {

namespace {

bool is_420(PixelFormat format) noexcept {
  return format == PixelFormat::nv12 || format == PixelFormat::yuv420p;
}

ComponentOrder order_of(PixelFormat format) noexcept {
  return format == PixelFormat::bgra || format == PixelFormat::bgr0 ? ComponentOrder::bgra : ComponentOrder::rgba;
}

/// Returns the scene if it can give what is asked for; otherwise throws Error.
const ShaderScene& with_depth_if(bool needs_depth, const ShaderScene& scene) {
  if (needs_depth && !scene.has_depth()) {
    throw Error::usage("the scene " + quote(scene.name) +
                       " has no depth, which --pix-fmt rgba+grayf32le asks for; it must define mainImageDepth");
  }
  return scene;
}

/// Returns the size if the format can be rendered at it; otherwise throws Error.
Size checked(Size size, PixelFormat format) {
  switch (format) {
    case PixelFormat::rgba:
    case PixelFormat::bgra:
    case PixelFormat::rgb0:
    case PixelFormat::bgr0:
    case PixelFormat::rgba_grayf32le:
      return size;
    case PixelFormat::nv12:
    case PixelFormat::yuv420p:
      if (size.width % 8 != 0 || size.height % 2 != 0) {
        throw Error::usage("a gl: source gives " + std::string(info(format).name) +
                           " in widths that are a multiple of 8 and even heights, not " + std::to_string(size.width) +
                           "x" + std::to_string(size.height) + "; change --size, or take --pix-fmt rgba");
      }
      return size;
    default:
      throw Error::usage("a gl: source does not give " + std::string(info(format).name) +
                         "; --pix-fmt takes rgba, bgra, rgb0, bgr0, nv12, yuv420p or rgba+grayf32le here");
  }
}

}  // namespace

SceneRenderer::SceneRenderer(const ShaderScene& scene, Size size, PixelFormat format)
    : format_(format),
      scene_(with_depth_if(has_depth(format), scene), order_of(format)),
      picture_(checked(size, format), has_depth(format)),
      readback_size_(size) {
  glTextureParameteri(picture_.texture(), GL_TEXTURE_MIN_FILTER, GL_LINEAR);  // for who draws it in another size
  glTextureParameteri(picture_.texture(), GL_TEXTURE_MAG_FILTER, GL_LINEAR);
  glTextureParameteri(picture_.texture(), GL_TEXTURE_WRAP_S, GL_CLAMP_TO_EDGE);
  glTextureParameteri(picture_.texture(), GL_TEXTURE_WRAP_T, GL_CLAMP_TO_EDGE);
  if (is_420(format)) {
    convert_by("rgb_to_420.frag", {size.width / 4, size.height / 2 * 3});
    const GLuint program = conversion_->program.id();
    glProgramUniform1i(program, conversion_->program.uniform("planar"), format == PixelFormat::yuv420p ? 1 : 0);
  } else if (has_depth(format)) {
    convert_by("rgba_and_depth.frag", {size.width, size.height * 2});
  }
}

void SceneRenderer::convert_by(std::string_view shader, Size size) {
  readback_size_ = size;
  conversion_.emplace(Conversion{
      ShaderProgram(shader, find_embedded_shader("frame.vert").value_or(""), find_embedded_shader(shader).value_or("")),
      OffscreenTarget(size), GlVertexArray::create()});
}

void SceneRenderer::draw_picture(const SceneUniforms& moment) const noexcept {
  picture_.bind();
  scene_.draw(picture_.size(), moment);
  if (!has_depth(format_)) {  // it would be nearer than everything, or hidden
    counter_.draw(picture_.size(), moment.frame, moment.time_s);
  }
}

void SceneRenderer::draw(const SceneUniforms& moment) const noexcept {
  draw_picture(moment);
  if (conversion_) {
    conversion_->target.bind();
    conversion_->program.use();
    glBindTextureUnit(0, picture_.texture());
    glBindTextureUnit(1, picture_.depth_texture());
    glBindVertexArray(conversion_->no_vertices.id());
    glDrawArrays(GL_TRIANGLES, 0, 3);
  }
}

Colour SceneRenderer::colour() const noexcept {
  Colour colour = rgb_colour();
  if (is_420(format_)) {
    colour.matrix = ColourMatrix::bt709;
    colour.range = ColourRange::limited;
  }
  return colour;
}

}  // namespace framewire
