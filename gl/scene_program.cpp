#include "gl/scene_program.hpp"

#include <algorithm>
#include <cstdint>
#include <ctime>
#include <string>
#include <string_view>
#include <vector>

#include "shaders/embedded.hpp"

namespace framewire {

namespace {

constexpr int noise_side = 256;
constexpr int channels = 4;
constexpr GLuint noise_unit = 0;
constexpr GLuint keyboard_unit = 1;

std::string_view embedded(std::string_view name) {
  // The build embeds the file; the shader test verifies that.
  return find_embedded_shader(name).value_or("");
}

/// The source text before the scene's own text.
std::string prologue(ComponentOrder order, bool has_depth) {
  std::string text(embedded("scenes/prologue.glsl"));
  const std::string_view has_depth_placeholder = "HAS_DEPTH";
  if (const auto at = text.find(has_depth_placeholder); at != std::string::npos) {
    text.replace(at, has_depth_placeholder.size(), has_depth ? "1" : "0");
  }
  const std::string_view placeholder = "ORDER_IN_MEMORY";
  if (const auto at = text.find(placeholder); at != std::string::npos) {
    text.replace(at, placeholder.size(), order == ComponentOrder::rgba ? "rgba" : "bgra");
  }
  return text;
}

ShaderProgram compile(const ShaderScene& scene, ComponentOrder order) {
  const std::string before = prologue(order, scene.has_depth());
  return {scene.name, embedded("frame.vert"), before + scene.text + "\n",
          static_cast<int>(std::ranges::count(before, '\n'))};
}

/// 256 x 256 random texels from a fixed seed.
GlTexture make_noise() {
  std::vector<std::uint32_t> texels(std::size_t{noise_side} * noise_side);
  std::uint32_t state = 0x2545f491;
  for (std::uint32_t& texel : texels) {
    // xorshift32: G. Marsaglia, "Xorshift RNGs", Journal of Statistical Software 8 (2003), §3.
    state ^= state << 13;
    state ^= state >> 17;
    state ^= state << 5;
    texel = state;
  }
  GlTexture texture = GlTexture::create(GL_TEXTURE_2D);
  glTextureStorage2D(texture.id(), 9, GL_RGBA8, noise_side, noise_side);
  glTextureSubImage2D(texture.id(), 0, 0, 0, noise_side, noise_side, GL_RGBA, GL_UNSIGNED_BYTE, texels.data());
  glGenerateTextureMipmap(texture.id());
  glTextureParameteri(texture.id(), GL_TEXTURE_MIN_FILTER, GL_LINEAR_MIPMAP_LINEAR);
  return texture;
}

GlTexture make_keyboard() {
  GlTexture texture = GlTexture::create(GL_TEXTURE_2D);
  glTextureStorage2D(texture.id(), 1, GL_R8, keyboard_columns, keyboard_rows);
  glTextureParameteri(texture.id(), GL_TEXTURE_MIN_FILTER, GL_NEAREST);
  glTextureParameteri(texture.id(), GL_TEXTURE_MAG_FILTER, GL_NEAREST);
  return texture;
}

void fill_keyboard(const GlTexture& texture, const KeyboardTexels* texels) noexcept {
  constexpr KeyboardTexels nothing{};
  glTextureSubImage2D(texture.id(), 0, 0, 0, keyboard_columns, keyboard_rows, GL_RED, GL_UNSIGNED_BYTE,
                      (texels != nullptr ? *texels : nothing).data());
}

/// A bit a texel, the first one lowest.
void set_key_bits(int location, const KeyboardTexels* texels) noexcept {
  constexpr std::size_t word_bits = 32;
  std::array<GLuint, keyboard_columns * keyboard_rows / word_bits> words{};
  for (std::size_t i = 0; texels != nullptr && i < texels->size(); ++i) {
    words[i / word_bits] |= (*texels)[i] != 0 ? GLuint{1} << (i % word_bits) : 0U;
  }
  glUniform1uiv(location, static_cast<GLsizei>(words.size()), words.data());
}

}  // namespace

std::array<float, 4> scene_date(std::chrono::system_clock::time_point now) noexcept {
  const auto whole = std::chrono::floor<std::chrono::seconds>(now);
  const std::time_t seconds = std::chrono::system_clock::to_time_t(whole);
  std::tm local{};
  localtime_r(&seconds, &local);
  const int of_day = (local.tm_hour * 60 + local.tm_min) * 60 + local.tm_sec;
  const double fraction = std::chrono::duration<double>(now - whole).count();
  return {static_cast<float>(local.tm_year + 1900), static_cast<float>(local.tm_mon), static_cast<float>(local.tm_mday),
          static_cast<float>(of_day + fraction)};
}

SceneProgram::SceneProgram(const ShaderScene& scene, ComponentOrder order)
    : program_(compile(scene, order)),
      no_vertices_(GlVertexArray::create()),
      uniforms_{program_.uniform("iResolution"), program_.uniform("iTime"),  program_.uniform("iTimeDelta"),
                program_.uniform("iFrameRate"),  program_.uniform("iFrame"), program_.uniform("iDate"),
                program_.uniform("iMouse"),      program_.uniform("iDrag"),  program_.uniform("iWheel"),
                program_.uniform("iKeyBits"),    program_.uniform("iEye"),   program_.uniform("iEyeAxes"),
                program_.uniform("iFieldOfView")} {
  glProgramUniform1ui(program_.id(), program_.uniform("iParts"), scene.parts);
  for (int i = 0; i < channels; ++i) {
    const std::string number = std::to_string(i);
    if (const int location = program_.uniform(("iChannel" + number).c_str()); location >= 0) {
      noise_ = noise_ ? std::move(noise_) : make_noise();
      glProgramUniform1i(program_.id(), location, noise_unit);
    }
    glProgramUniform3f(program_.id(), program_.uniform(("iChannelResolution[" + number + "]").c_str()), noise_side,
                       noise_side, 1);
  }
  if (const int location = program_.uniform("iKeyboard"); location >= 0) {
    keyboard_ = make_keyboard();
    glProgramUniform1i(program_.id(), location, keyboard_unit);
  }
}

void SceneProgram::set_camera(const Camera& camera) const noexcept {
  const auto& m = camera.to_world;
  const std::array<float, 9> columns{m[0], m[4], m[8], m[1], m[5], m[9], m[2], m[6], m[10]};
  glUniformMatrix3fv(uniforms_.eye_axes, 1, GL_FALSE, columns.data());
  glUniform3f(uniforms_.eye, m[3], m[7], m[11]);
  glUniform1f(uniforms_.field_of_view, camera.field_of_view_rad);
}

void SceneProgram::draw(Size size, const SceneUniforms& moment) const noexcept {
  program_.use();
  glUniform3f(uniforms_.resolution, static_cast<float>(size.width), static_cast<float>(size.height), 1.0F);
  glUniform1f(uniforms_.time, static_cast<float>(moment.time_s));
  glUniform1f(uniforms_.time_delta, static_cast<float>(moment.time_delta_s));
  glUniform1f(uniforms_.frame_rate, static_cast<float>(moment.frames_per_s));
  glUniform1i(uniforms_.frame, static_cast<GLint>(moment.frame & 0x7fffffff));
  glUniform4fv(uniforms_.mouse, 1, moment.mouse.data());
  glUniform2fv(uniforms_.drag, 1, moment.drag.data());
  glUniform2fv(uniforms_.wheel, 1, moment.wheel.data());
  if (uniforms_.key_bits >= 0) {
    set_key_bits(uniforms_.key_bits, moment.keyboard);
  }
  if (uniforms_.date >= 0) {
    glUniform4fv(uniforms_.date, 1, scene_date(std::chrono::system_clock::now()).data());
  }
  set_camera(moment.camera);
  if (noise_) {
    glBindTextureUnit(noise_unit, noise_.id());
  }
  if (keyboard_) {
    fill_keyboard(keyboard_, moment.keyboard);
    glBindTextureUnit(keyboard_unit, keyboard_.id());
  }
  glDisable(GL_BLEND);
  glBindVertexArray(no_vertices_.id());
  glDrawArrays(GL_TRIANGLES, 0, 3);
}

}  // namespace framewire
