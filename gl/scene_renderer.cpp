#include "gl/scene_renderer.hpp"

#include <string>
#include <utility>

#include "base/error.hpp"
#include "shaders/embedded.hpp"

namespace framewire {

namespace {

constexpr std::string_view yuv_shader = "rgb_to_yuv.glsl";

/// That shader for the format.
std::string yuv_source(const PixelFormatInfo& format, ConvertBy way) {
  return "#version 450 core\n#define COMPUTED " + std::to_string(static_cast<int>(way)) + "\n#define BITS " +
         std::to_string(format.depth) + "\n#define SHIFT " + std::to_string(format.shift) + "\n#define PLANAR " +
         std::to_string(format.plane_count - 2) + "\n#define CHROMA_ROWS " +
         std::to_string(1 << format.planes[1].log2_height) + "\n" +
         std::string(find_embedded_shader(yuv_shader).value_or(""));
}

/// Of the picture that is drawn. 16 bits keep gradients smooth in formats of 10, and colours are clamped to them as to
/// 8 bits. Half floats would take as much memory, are not clamped, and are coarser where it is bright.
GLenum texture_format_for(PixelFormat format) noexcept {
  return info(format).depth > 8 ? GL_RGBA16 : GL_RGBA8;
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

/// Four bytes a pixel, or YUV with chroma of half the width in planes of its own.
bool can_render(const PixelFormatInfo& format) noexcept {
  const auto& [first, second, third] = format.planes;
  return format.is_yuv ? format.plane_count > 1 && second.log2_width == 1
                       : first.bytes_per_texel == 4 && (format.plane_count == 1 || has_depth(format.format));
}

/// "rgba, bgra, … or rgba+grayf32le".
std::string names_of_rendered() {
  std::string names;
  for (const PixelFormatInfo& format : pixel_formats()) {
    names += can_render(format) ? std::string(format.name) + ", " : "";
  }
  names.resize(names.size() - 2);
  return names + " or " + std::string(info(PixelFormat::rgba_grayf32le).name);
}

/// Returns the size if the format can be rendered at it; otherwise throws Error.
Size checked(Size size, PixelFormat format) {
  const PixelFormatInfo& entry = info(format);
  const std::string name(entry.name);
  if (!can_render(entry)) {
    throw Error::usage("a gl: source does not give " + name + "; --pix-fmt takes " + names_of_rendered() + " here");
  }
  const bool has_half_rows = entry.planes[1].log2_height != 0;
  if (entry.is_yuv && (size.width % 8 != 0 || (has_half_rows && size.height % 2 != 0))) {
    throw Error::usage("a gl: source gives " + name + " in widths that are a multiple of 8" +
                       (has_half_rows ? " and even heights" : "") + ", not " + std::to_string(size.width) + "x" +
                       std::to_string(size.height) + "; change --size, or take --pix-fmt rgba");
  }
  return size;
}

}  // namespace

SceneRenderer::SceneRenderer(const ShaderScene& scene, Size size, PixelFormat format, ConvertBy way)
    : format_(format),
      scene_(with_depth_if(has_depth(format), scene), order_of(format)),
      picture_(checked(size, format), has_depth(format), texture_format_for(format)),
      readback_size_(size) {
  glTextureParameteri(picture_.texture(), GL_TEXTURE_MIN_FILTER, GL_LINEAR);  // for who draws it in another size
  glTextureParameteri(picture_.texture(), GL_TEXTURE_MAG_FILTER, GL_LINEAR);
  glTextureParameteri(picture_.texture(), GL_TEXTURE_WRAP_S, GL_CLAMP_TO_EDGE);
  glTextureParameteri(picture_.texture(), GL_TEXTURE_WRAP_T, GL_CLAMP_TO_EDGE);
  if (info(format).is_yuv) {  // each row of the target has the bytes of a row of luma
    const FrameLayout frame = layout();
    const std::uint32_t row_bytes = frame.planes.front().pitch_bytes;
    convert_by(yuv_shader, yuv_source(info(format), ConvertBy::drawing),
               {row_bytes / 4, static_cast<std::uint32_t>(frame.size_bytes / row_bytes)});
    if (way == ConvertBy::computing) {
      compute_by(yuv_source(info(format), ConvertBy::computing));
    }
  } else if (has_depth(format)) {
    convert_by("rgba_and_depth.frag", find_embedded_shader("rgba_and_depth.frag").value_or(""),
               {size.width, size.height * 2});
  }
}

void SceneRenderer::convert_by(std::string_view shader, std::string_view fragment_source, Size size) {
  readback_size_ = size;
  conversion_.emplace(
      Conversion{ShaderProgram(shader, find_embedded_shader("frame.vert").value_or(""), fragment_source),
                 OffscreenTarget(size), GlVertexArray::create()});
}

/// Not where a driver's storage buffers end before the frame does, nor where it does not compile the shader.
void SceneRenderer::compute_by(std::string_view source) try {
  GLint64 largest_bytes = 0;
  glGetInteger64v(GL_MAX_SHADER_STORAGE_BLOCK_SIZE, &largest_bytes);
  if (static_cast<GLint64>(readback_bytes()) > largest_bytes) {
    return;
  }
  GLint alignment_bytes = 1;
  glGetIntegerv(GL_SHADER_STORAGE_BUFFER_OFFSET_ALIGNMENT, &alignment_bytes);
  ShaderProgram program = ShaderProgram::of_compute(yuv_shader, source);
  const int rows = program.uniform("rows");
  computation_.emplace(Computation{std::move(program), rows, static_cast<std::uint64_t>(alignment_bytes)});
} catch (const ShaderError&) {
  computation_.reset();
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
  draw_bytes();
}

const ReadbackSource* SceneRenderer::draw_for_readback(const SceneUniforms& moment) const noexcept {
  draw_picture(moment);
  if (computation_) {
    return this;
  }
  draw_bytes();
  return nullptr;
}

void SceneRenderer::draw_bytes() const noexcept {
  if (conversion_) {
    conversion_->target.bind();
    conversion_->program.use();
    glBindTextureUnit(0, picture_.texture());
    glBindTextureUnit(1, picture_.depth_texture());
    glBindVertexArray(conversion_->no_vertices.id());
    glDrawArrays(GL_TRIANGLES, 0, 3);
  }
}

bool SceneRenderer::can_write(std::uint64_t offset_bytes) const noexcept {
  return computation_ && offset_bytes % computation_->alignment_bytes == 0;
}

void SceneRenderer::write_rows(GLuint buffer, std::uint64_t offset_bytes, std::uint32_t first,
                               std::uint32_t end) const noexcept {
  constexpr std::uint32_t group_columns = 32, group_rows = 4;  // as in the shader
  computation_->program.use();
  glUniform2i(computation_->rows, static_cast<GLint>(first), static_cast<GLint>(end));
  glBindTextureUnit(0, picture_.texture());
  glBindBufferRange(GL_SHADER_STORAGE_BUFFER, 0, buffer, static_cast<GLintptr>(offset_bytes),
                    static_cast<GLsizeiptr>(readback_bytes()));
  glDispatchCompute((readback_size_.width + group_columns - 1) / group_columns,
                    (end - first + group_rows - 1) / group_rows, 1);
  glMemoryBarrier(GL_ALL_BARRIER_BITS);  // for OpenGL's other calls; who reads the memory itself waits for a fence
  glBindBufferBase(GL_SHADER_STORAGE_BUFFER, 0, 0);
}

Colour SceneRenderer::colour() const noexcept {
  Colour colour = rgb_colour();
  if (info(format_).is_yuv) {
    colour.matrix = ColourMatrix::bt709;
    colour.range = ColourRange::limited;
  }
  return colour;
}

}  // namespace framewire
