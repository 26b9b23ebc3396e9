// The position of a frame's planes in its slot, and the format of an epoch.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>

#include "frame/colour.hpp"
#include "frame/pixel_format.hpp"

namespace framewire {

inline constexpr std::size_t max_wire_planes = 8;  // there is room for in a header
inline constexpr std::uint32_t max_frame_side_pixels = 32768;
inline constexpr std::uint64_t max_slot_bytes = std::uint64_t{1} << 32;

/// One plane: `rows` rows of `row_bytes` visible bytes, `pitch_bytes` apart, the first at `offset_bytes` in the slot.
struct PlaneLayout {
  std::uint64_t offset_bytes = 0;
  std::uint32_t pitch_bytes = 0;
  std::uint32_t row_bytes = 0;
  std::uint32_t rows = 0;
  bool operator==(const PlaneLayout&) const = default;
};

struct FrameLayout {
  PixelFormat format = PixelFormat::bytes;
  std::uint32_t width = 0;   // pixels; for `bytes` 0
  std::uint32_t height = 0;  // pixels; for `bytes` 0
  std::uint32_t plane_count = 0;
  std::array<PlaneLayout, 3> planes{};
  std::uint64_t size_bytes = 0;  // of the payload, from the start of the slot to the end of the last row at least
  bool operator==(const FrameLayout&) const = default;
};

/// The layout without padding, as rawvideo: pitch = row, planes one after another.
/// Throws Error (failed) if a side is 0 or larger than 32768, or the frame larger than max_slot_bytes.
FrameLayout packed_layout(PixelFormat format, std::uint32_t width, std::uint32_t height);

/// The layout of `count` bytes of a byte stream.
FrameLayout bytes_layout(std::uint64_t count) noexcept;

/// Checks a layout from outside: every plane must be inside `slot_bytes`, have the size that the format requires, and
/// overlap no other. Returns one sentence that says what is wrong, or nothing.
std::optional<std::string> validate_layout(const FrameLayout& layout, std::uint64_t slot_bytes);

/// `value` / 2^log2, rounded up: the number of texels of that size that cover a side of `value` pixels.
constexpr std::uint32_t ceil_rshift(std::uint32_t value, std::uint8_t log2) noexcept {
  return (value + (std::uint32_t{1} << log2) - 1) >> log2;
}

struct Rational {
  std::uint32_t numerator = 0;
  std::uint32_t denominator = 1;
  bool operator==(const Rational&) const = default;
};

/// Frames per second as a fraction: 60 -> 60/1, 29.97 -> 30000/1001, 12.5 -> 12500/1000. For rates up to 1,000,000; 0
/// and below become 0/1 (unknown).
Rational rational_rate(double frames_per_s) noexcept;

/// The format of one epoch of a stream; constant within the epoch.
struct StreamFormat {
  FrameLayout layout;
  Colour colour{};
  Rational sample_aspect_ratio{1, 1};  // width : height of one pixel
  Rational frame_rate{0, 1};           // frames per second; 0: unknown
  AlphaMode alpha_mode = AlphaMode::unspecified;
  ChromaLocation chroma_location = ChromaLocation::unspecified;
  FieldOrder field_order = FieldOrder::unspecified;
  bool operator==(const StreamFormat&) const = default;
};

/// "3840x2160 rgba 60 fps" for a person.
std::string describe(const StreamFormat& format);

/// The colour metadata by FFmpeg's names: "matrix bt709, range tv, chroma left, interlaced tt". Omits what is not
/// known; empty if nothing is.
std::string describe_colour(const StreamFormat& format);

}  // namespace framewire
