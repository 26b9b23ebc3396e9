// The pixel formats on the wire, with FFmpeg's names, and their layout in memory.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace framewire {

/// The numbers are part of the wire protocol: never change or reuse them. ARCHITECTURE.md lists what a new format
/// touches.
enum class PixelFormat : std::uint32_t {
  bytes = 1,  // no picture: a chunk of a byte stream
  rgba = 2,
  bgra = 3,
  rgb0 = 4,
  bgr0 = 5,
  rgb24 = 6,
  bgr24 = 7,
  gray8 = 8,
  nv12 = 9,
  yuv420p = 10,
  yuv422p = 11,
  yuv444p = 12,
  uyvy422 = 13,
  yuyv422 = 14,
  p010le = 15,
  yuv420p10le = 16,
  yuv422p10le = 17,
  rgba_grayf32le = 18,  // colour and depth: see has_depth()
};

/// One plane of a format. Its unit, a texel, covers 2^log2_width x 2^log2_height pixels in bytes_per_texel bytes: an
/// NV12 chroma texel is (1, 1, 2), a UYVY texel (1, 0, 4).
struct PlaneShape {
  std::uint8_t log2_width;
  std::uint8_t log2_height;
  std::uint8_t bytes_per_texel;
  /// The components of a texel in memory order: R, G, B, A, Y (also grey), U, V, or 0 for unused. Each takes one byte,
  /// or two in formats of more than 8 bits. Or Z alone: a depth, a 32-bit float.
  std::string_view components;
  /// The plane's own format on the wire, if it has one: FFmpeg's name says what it is alone. 0: the frame's.
  std::uint32_t wire_number = 0;
};

/// Numbers on the wire of formats that only a plane has. Never change or reuse them.
inline constexpr std::uint32_t grayf32le_plane_number = 256;

struct PixelFormatInfo {
  PixelFormat format;
  std::string_view name;
  std::uint8_t plane_count;
  std::uint8_t depth;  // per component
  bool is_yuv;         // needs a colour matrix
  std::array<PlaneShape, 3> planes;
  std::uint8_t shift = 0;  // unused low bits of each two-byte component: 6 for p010le, with its 10 bits at the top
};

/// Whether gl/texture_planes.cpp can draw a picture format of this shape: one plane of RGB or grey, packed 4:2:2, luma
/// and a plane of both chroma components, or a plane each of Y, U and V in this order.
constexpr bool is_drawable(const PixelFormatInfo& format) noexcept {
  const auto& [first, second, third] = format.planes;
  if (!format.is_yuv) {
    return format.plane_count == 1;
  }
  switch (format.plane_count) {
    case 1:
      return first.log2_width == 1 && first.log2_height == 0 && first.components.size() == 4 &&
             first.components.rfind('Y') - first.components.find('Y') == 2;
    case 2:
      return first.components == "Y" && (second.components == "UV" || second.components == "VU");
    case 3:
      return first.components == "Y" && second.components == "U" && third.components == "V";
    default:
      return false;
  }
}

/// All formats of pictures alone, in a fixed order: without those that has_depth() means. Constant.
std::span<const PixelFormatInfo> pixel_formats() noexcept;

/// The entry of one format; `bytes` has a single plane of one-byte texels. Asserts that the number is in the enum:
/// convert a peer's number with pixel_format_from_number first.
const PixelFormatInfo& info(PixelFormat format) noexcept;

/// Whether pixels have alpha (rgba, bgra), and whether they have no colour (gray8).
bool has_alpha(PixelFormat format) noexcept;
bool is_gray(PixelFormat format) noexcept;

/// Whether a second plane says how far each pixel is from the eye, in the scene's own unit, along its ray and not along
/// the axis. +inf and NaN: nothing is there. Only scenes that are rendered have it; libav has no such formats.
bool has_depth(PixelFormat format) noexcept;

/// The format of a picture's colours: rgba for rgba_grayf32le, whose first plane they are; else the format itself.
PixelFormat colour_format(PixelFormat format) noexcept;

/// Whether there are fewer chroma than luma samples, so that the chroma location matters.
bool is_subsampled(PixelFormat format) noexcept;

std::optional<PixelFormat> pixel_format_from_number(std::uint32_t number) noexcept;
std::optional<PixelFormat> pixel_format_from_name(std::string_view name) noexcept;

/// "rgba, bgra, …" for messages.
std::string pixel_format_names();

}  // namespace framewire
