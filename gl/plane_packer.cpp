#include "gl/plane_packer.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "shaders/embedded.hpp"

namespace framewire {

namespace {

constexpr std::uint32_t row_pixels = 2048;
constexpr std::uint64_t pixel_bytes = 4;

bool have_same_shape(const DmaBufPlane& one, const DmaBufPlane& other) noexcept {
  return one.columns == other.columns && one.rows == other.rows && one.components == other.components;
}

}  // namespace

PlanePacker::PlanePacker(const DmaBufPicture& shape)
    : shape_(shape),
      program_("planes_to_bytes.frag", find_embedded_shader("frame.vert").value_or(""),
               find_embedded_shader("planes_to_bytes.frag").value_or("")),
      no_vertices_(GlVertexArray::create()) {
  const std::uint64_t pixels = (shape.size_bytes() + pixel_bytes - 1) / pixel_bytes;
  if (pixels == 0 || shape.size_bytes() > INT32_MAX) {
    throw Error::failed("a picture of " + format_bytes(shape.size_bytes()) + " is not drawn in one piece");
  }
  const auto whole = static_cast<std::uint32_t>(pixels);
  const std::uint32_t width = std::min(whole, row_pixels);
  const std::uint32_t rest = whole % width;
  parts_[0].emplace(0, Size{width, whole / width});
  if (rest != 0) {
    parts_[1].emplace(whole - rest, Size{rest, 1});
  }
}

bool PlanePacker::fits(const DmaBufPicture& picture) const noexcept {
  return picture.component_bytes == shape_.component_bytes && have_same_shape(picture.planes[0], shape_.planes[0]) &&
         have_same_shape(picture.planes[1], shape_.planes[1]);
}

GLenum PlanePacker::begin(const DmaBufPicture& picture, const std::array<GLuint, 2>& textures,
                          const std::shared_ptr<HostBlock>& block, std::uint64_t offset_bytes) noexcept {
  drop_gl_errors();
  program_.use();
  std::array<GLuint, 8> wanted{};
  for (std::size_t i = 0; i < 2; ++i) {
    const DmaBufPlane& plane = picture.planes.at(i);
    std::ranges::copy(std::array{plane.first_column, plane.first_row, plane.columns, plane.rows},
                      wanted.begin() + static_cast<std::ptrdiff_t>(4 * i));
    glBindTextureUnit(static_cast<GLuint>(i), textures.at(i));
  }
  glUniform4uiv(program_.uniform("wanted"), 2, wanted.data());
  glUniform1ui(program_.uniform("component_bytes"), picture.component_bytes);
  glBindVertexArray(no_vertices_.id());
  GLenum error = GL_NO_ERROR;
  for (std::optional<Part>& part : parts_) {
    if (!part) {
      continue;
    }
    glUniform1ui(program_.uniform("first_pixel"), part->first_pixel);
    glUniform1ui(program_.uniform("target_width"), part->target.size().width);
    part->target.bind();
    glDrawArrays(GL_TRIANGLES, 0, 3);
    error = error != GL_NO_ERROR ? error : glGetError();  // before the readback, which may drop it
    const std::uint64_t at = offset_bytes + part->first_pixel * pixel_bytes;
    part->readback.begin(block, at, block->bytes().subspan(at, part->readback.size_bytes()));
    error = error != GL_NO_ERROR ? error : glGetError();
  }
  ++in_flight_;
  return error;
}

bool PlanePacker::wait_finished(std::int64_t deadline_ns) noexcept {
  if (in_flight_ == 0) {
    return false;
  }
  first_is_read_ = first_is_read_ || parts_[0]->readback.wait_finished(deadline_ns);
  if (!first_is_read_ || (parts_[1] && !parts_[1]->readback.wait_finished(deadline_ns))) {
    return false;
  }
  first_is_read_ = false;
  --in_flight_;
  return true;
}

bool PlanePacker::has_failed() const noexcept {
  return parts_[0]->readback.has_failed() || (parts_[1] && parts_[1]->readback.has_failed());
}

}  // namespace framewire
