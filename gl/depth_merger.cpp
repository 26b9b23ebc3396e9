#include "gl/depth_merger.hpp"

#include <array>
#include <cassert>

#include "gl/gl.hpp"
#include "shaders/embedded.hpp"

namespace framewire {

DepthMerger::DepthMerger()
    : program_("depth_merge.frag", find_embedded_shader("frame.vert").value_or(""),
               find_embedded_shader("depth_merge.frag").value_or("")),
      no_vertices_(GlVertexArray::create()) {
  std::array<GLint, most_pictures> units{};
  for (std::size_t i = 0; i < most_pictures; ++i) {
    units.at(i) = static_cast<GLint>(i);
  }
  glProgramUniform1iv(program_.id(), program_.uniform("colours"), most_pictures, units.data());
  for (GLint& unit : units) {
    unit += static_cast<GLint>(most_pictures);
  }
  glProgramUniform1iv(program_.id(), program_.uniform("depths"), most_pictures, units.data());
}

void DepthMerger::merge(Size size, std::span<const DepthPicture> pictures) {
  assert(!pictures.empty() && pictures.size() <= most_pictures);
  if (!target_ || target_->size() != size) {
    target_.reset();
    target_.emplace(size);
    glTextureParameteri(target_->texture(), GL_TEXTURE_MIN_FILTER, GL_LINEAR);  // for who draws it in another size
    glTextureParameteri(target_->texture(), GL_TEXTURE_MAG_FILTER, GL_LINEAR);
    glTextureParameteri(target_->texture(), GL_TEXTURE_WRAP_S, GL_CLAMP_TO_EDGE);
    glTextureParameteri(target_->texture(), GL_TEXTURE_WRAP_T, GL_CLAMP_TO_EDGE);
  }
  std::array<GLuint, 2 * most_pictures> textures{};
  for (std::size_t i = 0; i < most_pictures; ++i) {  // units without a picture of their own have the first one
    const DepthPicture& picture = pictures[i < pictures.size() ? i : 0];
    textures.at(i) = picture.colour;
    textures.at(most_pictures + i) = picture.depth;
  }
  target_->bind();
  program_.use();
  glUniform1i(program_.uniform("count"), static_cast<GLint>(pictures.size()));
  glBindTextures(0, textures.size(), textures.data());
  glBindVertexArray(no_vertices_.id());
  glDisable(GL_BLEND);
  glDrawArrays(GL_TRIANGLES, 0, 3);
}

}  // namespace framewire
