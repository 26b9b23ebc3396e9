#include "gl/texture_planes.hpp"

namespace framewire {

namespace {

constexpr std::array<GLint, 4> as_is = {GL_RED, GL_GREEN, GL_BLUE, GL_ALPHA};
constexpr std::array<GLint, 4> opaque = {GL_RED, GL_GREEN, GL_BLUE, GL_ONE};
constexpr std::array<GLint, 4> swapped = {GL_BLUE, GL_GREEN, GL_RED, GL_ALPHA};
constexpr std::array<GLint, 4> swapped_opaque = {GL_BLUE, GL_GREEN, GL_RED, GL_ONE};
constexpr std::array<GLint, 4> gray = {GL_RED, GL_RED, GL_RED, GL_ONE};
constexpr std::array<GLint, 4> green_first = {GL_GREEN, GL_ZERO, GL_ZERO, GL_ONE};
constexpr std::array<GLint, 4> red_and_blue = {GL_RED, GL_BLUE, GL_ZERO, GL_ONE};
constexpr std::array<GLint, 4> green_and_alpha = {GL_GREEN, GL_ALPHA, GL_ZERO, GL_ONE};

constexpr GLenum u8 = GL_UNSIGNED_BYTE;
constexpr GLenum u16 = GL_UNSIGNED_SHORT;

constexpr TexturePlane four_bytes(std::uint8_t log2_width, const std::array<GLint, 4>& swizzle) {
  return {0, log2_width, 0, 4, 1, GL_RGBA8, GL_RGBA, u8, swizzle};
}

constexpr TexturePlane three_bytes(const std::array<GLint, 4>& swizzle) {
  return {0, 0, 0, 3, 1, GL_RGB8, GL_RGB, u8, swizzle};
}

constexpr TexturePlane one_byte(std::uint32_t plane, std::uint8_t log2_width, std::uint8_t log2_height,
                                const std::array<GLint, 4>& swizzle = as_is) {
  return {plane, log2_width, log2_height, 1, 1, GL_R8, GL_RED, u8, swizzle};
}

constexpr TexturePlane one_word(std::uint32_t plane, std::uint8_t log2_width, std::uint8_t log2_height) {
  return {plane, log2_width, log2_height, 2, 2, GL_R16, GL_RED, u16, as_is};
}

constexpr TexturePlane packed_luma(const std::array<GLint, 4>& swizzle) {
  return {0, 0, 0, 2, 1, GL_RG8, GL_RG, u8, swizzle};
}

// BGRA data go in as RGBA and are put right by the swizzle: drivers that hold RGBA would convert every texel on the way
// in.
constexpr std::array rgba_planes = {four_bytes(0, as_is)};
constexpr std::array bgra_planes = {four_bytes(0, swapped)};
constexpr std::array rgb0_planes = {four_bytes(0, opaque)};
constexpr std::array bgr0_planes = {four_bytes(0, swapped_opaque)};
constexpr std::array rgb24_planes = {three_bytes(opaque)};
constexpr std::array bgr24_planes = {three_bytes(swapped_opaque)};
constexpr std::array gray8_planes = {one_byte(0, 0, 0, gray)};
constexpr std::array nv12_planes = {one_byte(0, 0, 0), TexturePlane{1, 1, 1, 2, 1, GL_RG8, GL_RG, u8, as_is}};
constexpr std::array p010_planes = {one_word(0, 0, 0), TexturePlane{1, 1, 1, 4, 2, GL_RG16, GL_RG, u16, as_is}};
constexpr std::array uyvy_planes = {packed_luma(green_first), four_bytes(1, red_and_blue)};
constexpr std::array yuyv_planes = {packed_luma(as_is), four_bytes(1, green_and_alpha)};
constexpr std::array yuv420_planes = {one_byte(0, 0, 0), one_byte(1, 1, 1), one_byte(2, 1, 1)};
constexpr std::array yuv422_planes = {one_byte(0, 0, 0), one_byte(1, 1, 0), one_byte(2, 1, 0)};
constexpr std::array yuv444_planes = {one_byte(0, 0, 0), one_byte(1, 0, 0), one_byte(2, 0, 0)};
constexpr std::array yuv420_10_planes = {one_word(0, 0, 0), one_word(1, 1, 1), one_word(2, 1, 1)};
constexpr std::array yuv422_10_planes = {one_word(0, 0, 0), one_word(1, 1, 0), one_word(2, 1, 0)};

}  // namespace

std::span<const TexturePlane> texture_planes(PixelFormat format) noexcept {
  switch (format) {
    case PixelFormat::rgba:
      return rgba_planes;
    case PixelFormat::bgra:
      return bgra_planes;
    case PixelFormat::rgb0:
      return rgb0_planes;
    case PixelFormat::bgr0:
      return bgr0_planes;
    case PixelFormat::rgb24:
      return rgb24_planes;
    case PixelFormat::bgr24:
      return bgr24_planes;
    case PixelFormat::gray8:
      return gray8_planes;
    case PixelFormat::nv12:
      return nv12_planes;
    case PixelFormat::yuv420p:
      return yuv420_planes;
    case PixelFormat::yuv422p:
      return yuv422_planes;
    case PixelFormat::yuv444p:
      return yuv444_planes;
    case PixelFormat::uyvy422:
      return uyvy_planes;
    case PixelFormat::yuyv422:
      return yuyv_planes;
    case PixelFormat::p010le:
      return p010_planes;
    case PixelFormat::yuv420p10le:
      return yuv420_10_planes;
    case PixelFormat::yuv422p10le:
      return yuv422_10_planes;
    case PixelFormat::bytes:
      break;
  }
  return {};
}

std::uint32_t texture_width(const TexturePlane& texture, std::uint32_t frame_width) noexcept {
  return shift_up(frame_width, texture.log2_width);
}

std::uint32_t texture_height(const TexturePlane& texture, std::uint32_t frame_height) noexcept {
  return shift_up(frame_height, texture.log2_height);
}

std::optional<RowStep> find_row_step(const TexturePlane& texture, std::uint32_t pitch_bytes,
                                     std::uint64_t start) noexcept {
  if (start % texture.component_bytes != 0 || pitch_bytes % texture.component_bytes != 0) {
    return std::nullopt;
  }
  const std::uint32_t row_length = pitch_bytes / texture.texel_bytes;
  for (const std::uint32_t alignment : {1U, 2U, 4U, 8U}) {
    const std::uint32_t whole = row_length * texture.texel_bytes;
    if ((whole + alignment - 1) / alignment * alignment == pitch_bytes) {
      return RowStep{static_cast<GLint>(row_length), static_cast<GLint>(alignment)};
    }
  }
  return std::nullopt;
}

}  // namespace framewire
