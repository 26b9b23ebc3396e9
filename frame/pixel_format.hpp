// The pixel formats that travel, under FFmpeg's names, and how each lies in memory.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace framewire {

/// The numbers stand on the wire: they are never changed or used again. ARCHITECTURE.md lists what a new one touches.
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
};

/// One plane of a format. Its smallest unit, a texel, covers 2^log2_width x 2^log2_height pixels in bytes_per_texel
/// bytes: an NV12 chroma texel is (1, 1, 2), a UYVY texel (1, 0, 4).
struct PlaneShape {
  std::uint8_t log2_width;
  std::uint8_t log2_height;
  std::uint8_t bytes_per_texel;
  /// What stands in a texel, in the order of memory: R, G, B, A, Y (grey, too), U, V, or 0 for what means nothing. Each
  /// takes one byte, in formats of more than 8 bits two.
  std::string_view components;
};

struct PixelFormatInfo {
  PixelFormat format;
  std::string_view name;
  std::uint8_t plane_count;
  std::uint8_t bits;  // per component
  bool is_yuv;        // needs a colour matrix
  std::array<PlaneShape, 3> planes;
  std::uint8_t low_bits = 0;  // of each two-byte component that are not used: p010le keeps its 10 bits at the top
};

/// All formats, pictures only, in a fixed order. Constant.
std::span<const PixelFormatInfo> pixel_formats() noexcept;

/// The entry of one format; `bytes` has one with a single plane of one-byte texels. Asserts on a number that is not in
/// the enum: a peer's number goes through pixel_format_from_number first.
const PixelFormatInfo& info(PixelFormat format) noexcept;

/// Whether pixels have an alpha (rgba, bgra), and whether they have no colour at all (gray8).
bool has_alpha(PixelFormat format) noexcept;
bool is_gray(PixelFormat format) noexcept;

/// Whether there are fewer chroma samples than luma samples, so that it matters where they lie.
bool is_subsampled(PixelFormat format) noexcept;

std::optional<PixelFormat> pixel_format_from_number(std::uint32_t number) noexcept;
std::optional<PixelFormat> pixel_format_from_name(std::string_view name) noexcept;

/// "rgba, bgra, …" for messages.
std::string pixel_format_names();

}  // namespace framewire
