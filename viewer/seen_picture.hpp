// Where the pictures of streams are seen, and which pixel of a frame is where.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/text.hpp"
#include "viewer/layout.hpp"

namespace framewire {

/// The picture of one stream, as it was drawn. A value.
struct SeenPicture {
  const void* stream = nullptr;  // which one: its address, which nobody follows
  PicturePlace at{};             // on the surface
  Size frame{};                  // in its own pixels
  std::uint64_t session = 0;     // of the frame, and its epoch as the sender counts it
  std::uint32_t epoch = 0;
  bool takes_input = true;  // false: clicks do not go through it, and no stream gets them
  bool operator==(const SeenPicture&) const = default;
};

/// From the back to the front; those of which nothing is seen are left out.
using SeenPictures = std::vector<SeenPicture>;

/// A place in a frame, in its pixels, from its top left.
struct FramePosition {
  double x = 0;
  double y = 0;
  bool operator==(const FramePosition&) const = default;
};

/// What of the frame lies at a place of the surface; may be outside the frame. `picture` is not empty.
FramePosition position_in_frame(const SeenPicture& picture, double x, double y) noexcept;
/// So many pixels of the frame is a way on the surface.
FramePosition way_in_frame(const SeenPicture& picture, double dx, double dy) noexcept;

/// The front one of the pictures that are seen at a place of the surface: an index.
std::optional<std::size_t> picture_at(std::span<const SeenPicture> pictures, double x, double y) noexcept;

}  // namespace framewire
