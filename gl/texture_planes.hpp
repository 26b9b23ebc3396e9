// Maps the planes of each pixel format to textures.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>

#include "frame/frame_layout.hpp"
#include "gl/gl.hpp"

namespace framewire {

inline constexpr std::size_t max_texture_planes = 3;

/// One texture of a frame. Packed 4:2:2 gets two textures from the same bytes: one with a texel per pixel for luma, so
/// that it can be filtered, and one with a texel per pixel pair for chroma.
struct TexturePlane {
  std::uint32_t plane;  // of the layout
  std::uint8_t log2_width;
  std::uint8_t log2_height;
  std::uint8_t texel_bytes;
  std::uint8_t component_bytes;
  GLenum internal_format;
  GLenum format;
  GLenum type;
  std::array<GLint, 4> swizzle;  // the shader gets R, G, B, A or Y or U, V in this order from every format
};

/// The textures of a picture `format`. RGB or gray: 1; luma and chroma: 2; luma, U and V: 3. If it has_depth(), the
/// last one is the depth. Constant.
std::span<const TexturePlane> texture_planes(PixelFormat format) noexcept;

/// Texture size for a frame of that size.
std::uint32_t texture_width(const TexturePlane& texture, std::uint32_t frame_width) noexcept;
std::uint32_t texture_height(const TexturePlane& texture, std::uint32_t frame_height) noexcept;

/// GL_UNPACK_ROW_LENGTH and GL_UNPACK_ALIGNMENT for one row step.
struct RowStep {
  GLint row_length_texels;
  GLint alignment_bytes;
};

/// The step for rows `pitch_bytes` apart that begin at `start` (an address, or an offset in a buffer). Nothing if GL
/// cannot express it; the rows must then be copied first. This happens if the pitch is not a whole number of texels
/// (nor one rounded up to 2, 4 or 8 bytes), or if a two-byte component would be at an odd address. Source: OpenGL 4.5
/// core, §8.4.4.1, and §8.4.1 for offsets into a buffer.
std::optional<RowStep> find_row_step(const TexturePlane& texture, std::uint32_t pitch_bytes,
                                     std::uint64_t start) noexcept;

}  // namespace framewire
