// How a recording wants its pictures turned, and turning them. Internal to media/.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "frame/frame_layout.hpp"
#include "media/libav.hpp"

namespace framewire::libav {

/// From the coded picture to the one to show: first rows become columns, then it is mirrored.
struct Orientation {
  bool is_transposed = false;
  bool flips_x = false;
  bool flips_y = false;
  bool operator==(const Orientation&) const = default;
  [[nodiscard]] bool is_upright() const noexcept { return *this == Orientation{}; }
};

/// Of a picture, which may say it itself, in a stream, which says it for all. Nothing: by an angle that is no multiple
/// of 90 degrees.
std::optional<Orientation> orientation_of(const AVStream& stream, const AVFrame& picture) noexcept;

/// Of a display matrix (libavutil/display.h: x' = ax + cy, y' = bx + dy, stored as a b u c d v x y w).
std::optional<Orientation> orientation_of(const std::int32_t* matrix) noexcept;

/// Whether pictures of a format can be turned so, texel by texel. Two pixels in one texel (uyvy422) cannot be mirrored,
/// and where chroma is halved in one direction alone (yuv422p) turning would halve it in the other.
bool can_turn(PixelFormat format, const Orientation& orientation) noexcept;

/// Where chroma samples lie once the picture is turned. `unspecified` where no name fits: mirrored samples that lay at
/// a left edge lie at a right one.
ChromaLocation turned(ChromaLocation location, const Orientation& orientation) noexcept;

/// Copies `picture` to `to`, turned, as `layout` has it: packed, of the turned size.
void copy_turned(const AVFrame& picture, const Orientation& orientation, const FrameLayout& layout,
                 std::byte* to) noexcept;

}  // namespace framewire::libav
