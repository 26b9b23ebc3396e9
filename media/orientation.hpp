// Rotates and mirrors pictures as their recording specifies. Internal to media/.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "frame/frame_layout.hpp"
#include "media/libav.hpp"

namespace framewire::libav {

/// From the coded picture to the displayed one: first transpose, then mirror.
struct Orientation {
  bool is_transposed = false;
  bool flips_x = false;
  bool flips_y = false;
  bool operator==(const Orientation&) const = default;
  [[nodiscard]] bool is_upright() const noexcept { return *this == Orientation{}; }
};

/// The orientation of a picture: its own, else the stream's. Nothing if the angle is not a multiple of 90 degrees.
std::optional<Orientation> orientation_of(const AVStream& stream, const AVFrame& picture) noexcept;

/// The orientation that a display matrix specifies (libavutil/display.h: x' = ax + cy, y' = bx + dy, stored as a b u c
/// d v x y w).
std::optional<Orientation> orientation_of(const std::int32_t* matrix) noexcept;

/// Whether pictures of `format` can be rotated and mirrored texel by texel. A texel with two pixels (uyvy422) cannot be
/// mirrored. If chroma is halved on one axis only (yuv422p), transposing would halve it on the other.
bool can_turn(PixelFormat format, const Orientation& orientation) noexcept;

/// The chroma location after reorientation; `unspecified` if it has no name: mirroring moves samples from the left edge
/// to the right one.
ChromaLocation turned(ChromaLocation location, const Orientation& orientation) noexcept;

/// Copies `picture` to `to`, reoriented. `layout` is packed and has the resulting size.
void copy_turned(const AVFrame& picture, const Orientation& orientation, const FrameLayout& layout,
                 std::byte* to) noexcept;

}  // namespace framewire::libav
