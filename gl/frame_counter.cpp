#include "gl/frame_counter.hpp"

#include <algorithm>
#include <array>

#include "gl/counter_text.hpp"
#include "shaders/embedded.hpp"

namespace framewire {

namespace {

constexpr std::uint32_t plate_border_dots =
    5;  // the plate extends four dots beyond the text, plus one pixel of soft edge

}  // namespace

FrameCounter::FrameCounter()
    : program_("frame_counter.frag", find_embedded_shader("frame.vert").value_or(""),
               find_embedded_shader("frame_counter.frag").value_or("")),
      no_vertices_(GlVertexArray::create()),
      uniforms_{program_.uniform("dots"), program_.uniform("characters"), program_.uniform("start"),
                program_.uniform("scale")} {}

void FrameCounter::draw(Size size, std::uint64_t frame, double time_s) const noexcept {
  const CounterText text = counter_text(frame, time_s);
  const CounterPlace place = counter_place(size);
  std::array<std::array<GLuint, 2>, max_counter_characters> dots{};
  for (std::size_t i = 0; i < text.length; ++i) {
    const std::uint64_t bits = glyph(text.characters.at(i));
    dots.at(i) = {static_cast<GLuint>(bits), static_cast<GLuint>(bits >> 32)};
  }
  program_.use();
  glUniform2uiv(uniforms_.dots, static_cast<GLsizei>(dots.size()), dots.front().data());
  glUniform1i(uniforms_.characters, static_cast<GLint>(text.length));
  glUniform2i(uniforms_.start, static_cast<GLint>(place.left), static_cast<GLint>(place.top));
  glUniform1i(uniforms_.scale, static_cast<GLint>(place.scale));

  // Restricts shading to the plate.
  const std::uint32_t border = plate_border_dots * place.scale;
  const auto length = static_cast<std::uint32_t>(text.length);
  glViewport(static_cast<GLint>(place.left - border), static_cast<GLint>(place.top - border),
             static_cast<GLsizei>(length * counter_cell_side * place.scale + 2 * border),
             static_cast<GLsizei>(counter_cell_side * place.scale + 2 * border));
  glEnable(GL_BLEND);
  glBlendFuncSeparate(GL_SRC_ALPHA, GL_ONE_MINUS_SRC_ALPHA, GL_ZERO, GL_ONE);  // alpha stays 1
  glBindVertexArray(no_vertices_.id());
  glDrawArrays(GL_TRIANGLES, 0, 3);
  glDisable(GL_BLEND);
  glViewport(0, 0, static_cast<GLsizei>(size.width), static_cast<GLsizei>(size.height));
}

}  // namespace framewire
