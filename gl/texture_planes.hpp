// How the planes of each pixel format become textures.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>

#include "frame/frame_layout.hpp"
#include "gl/gl.hpp"

namespace framewire {

inline constexpr std::size_t max_texture_planes = 3;

/// One texture of a frame. Packed 4:2:2 gets two from the same bytes: one with a texel per pixel, whose luma can be
/// filtered, and one with a texel per pair, which has the chroma.
struct TexturePlane {
  std::uint32_t plane;  // of the layout
  std::uint8_t log2_width;
  std::uint8_t log2_height;
  std::uint8_t texel_bytes;
  std::uint8_t component_bytes;
  GLenum internal_format;
  GLenum format;
  GLenum type;
  std::array<GLint, 4> swizzle;  // so that every format gives the shader R, G, B, A or Y or U, V in this order
};

/// The textures of `format`, a picture: RGB or gray: 1; luma and chroma: 2; luma, U and V: 3. Constant.
std::span<const TexturePlane> texture_planes(PixelFormat format) noexcept;

/// Sides of the texture for a frame of that size.
std::uint32_t texture_width(const TexturePlane& texture, std::uint32_t frame_width) noexcept;
std::uint32_t texture_height(const TexturePlane& texture, std::uint32_t frame_height) noexcept;

/// GL_UNPACK_ROW_LENGTH and GL_UNPACK_ALIGNMENT that step from row to row.
struct RowStep {
  GLint row_length_texels;
  GLint alignment_bytes;
};

/// The step for rows `pitch_bytes` apart, the first at `start` (address, or offset in a buffer). Nothing if GL cannot
/// express it, so that the rows must be copied first: the pitch is not a whole number of texels (and not one rounded up
/// to 2, 4 or 8 bytes), or a two-byte component would lie at an odd address. Source: OpenGL 4.5 core, §8.4.4.1, and
/// §8.4.1 for offsets into a buffer.
std::optional<RowStep> find_row_step(const TexturePlane& texture, std::uint32_t pitch_bytes,
                                     std::uint64_t start) noexcept;

}  // namespace framewire
