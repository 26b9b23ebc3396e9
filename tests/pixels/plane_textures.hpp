// Textures with planes of nv12 and p010le, as a driver's import would give them.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "base/text.hpp"
#include "gl/handle.hpp"
#include "memory/dma_buf_reader.hpp"

namespace framewire::test {

inline DmaBufPicture shape(Size size, std::uint32_t component_bytes) {
  DmaBufPicture made{.planes = {}, .component_bytes = component_bytes};
  for (std::uint32_t i = 0; i < 2; ++i) {
    DmaBufPlane& plane = made.planes.at(i);
    plane.width = plane.columns = size.width >> i;
    plane.height = plane.rows = size.height >> i;
    plane.components = i + 1;
  }
  return made;
}

inline DmaBufPicture part_of(DmaBufPicture whole, Size size, std::uint32_t left, std::uint32_t top) {
  for (std::uint32_t i = 0; i < 2; ++i) {
    DmaBufPlane& plane = whole.planes.at(i);
    plane.first_column = left >> i;
    plane.first_row = top >> i;
    plane.columns = size.width >> i;
    plane.rows = size.height >> i;
  }
  return whole;
}

/// What a number in a plane is: all numbers of 8 or 16 bits occur.
inline std::uint32_t sample(unsigned seed, std::uint32_t plane, std::uint32_t x, std::uint32_t y) noexcept {
  return seed * 7919 + plane * 25013 + x * 2053 + y * 31;
}

inline void append(std::vector<std::byte>& bytes, std::uint32_t value, std::uint32_t count) {
  for (std::uint32_t i = 0; i < count; ++i) {
    bytes.push_back(static_cast<std::byte>(value >> (8 * i)));
  }
}

/// The bytes of a plane; all of it, or what is wanted of it.
inline std::vector<std::byte> plane_bytes(const DmaBufPicture& picture, std::uint32_t i, unsigned seed, bool is_whole) {
  const DmaBufPlane& plane = picture.planes.at(i);
  const std::uint32_t left = is_whole ? 0 : plane.first_column;
  const std::uint32_t top = is_whole ? 0 : plane.first_row;
  const std::uint32_t right = is_whole ? plane.width : left + plane.columns;
  const std::uint32_t bottom = is_whole ? plane.height : top + plane.rows;
  std::vector<std::byte> bytes;
  for (std::uint32_t y = top; y < bottom; ++y) {
    for (std::uint32_t x = left * plane.components; x < right * plane.components; ++x) {
      append(bytes, sample(seed, i, x, y), picture.component_bytes);
    }
  }
  return bytes;
}

inline std::vector<std::byte> packed_bytes(const DmaBufPicture& picture, unsigned seed) {
  std::vector<std::byte> bytes = plane_bytes(picture, 0, seed, false);
  const std::vector<std::byte> chroma = plane_bytes(picture, 1, seed, false);
  bytes.insert(bytes.end(), chroma.begin(), chroma.end());
  return bytes;
}

inline GlTextureView plane_texture(const DmaBufPicture& picture, std::uint32_t i, unsigned seed) {
  const DmaBufPlane& plane = picture.planes.at(i);
  const bool is_wide = picture.component_bytes == 2;
  const GLenum format = plane.components == 1 ? GL_RED : GL_RG;
  const GLint kept = plane.components == 1 ? (is_wide ? GL_R16 : GL_R8) : (is_wide ? GL_RG16 : GL_RG8);
  const std::vector<std::byte> bytes = plane_bytes(picture, i, seed, true);
  GlTextureView texture = GlTextureView::create();
  glBindTexture(GL_TEXTURE_2D, texture.id());
  glPixelStorei(GL_UNPACK_ALIGNMENT, 1);
  glTexImage2D(GL_TEXTURE_2D, 0, kept, static_cast<GLsizei>(plane.width), static_cast<GLsizei>(plane.height), 0, format,
               is_wide ? GL_UNSIGNED_SHORT : GL_UNSIGNED_BYTE, bytes.data());
  glTexParameteri(GL_TEXTURE_2D, GL_TEXTURE_MIN_FILTER, GL_NEAREST);
  glBindTexture(GL_TEXTURE_2D, 0);
  return texture;
}

class PlaneTextures {
 public:
  explicit PlaneTextures(const DmaBufPicture& picture, unsigned seed = 0)
      : textures_{plane_texture(picture, 0, seed), plane_texture(picture, 1, seed)},
        packed_(packed_bytes(picture, seed)) {}

  [[nodiscard]] std::array<GLuint, 2> names() const { return {textures_[0].id(), textures_[1].id()}; }
  [[nodiscard]] const std::vector<std::byte>& packed() const { return packed_; }

 private:
  std::array<GlTextureView, 2> textures_;
  std::vector<std::byte> packed_;
};

}  // namespace framewire::test
