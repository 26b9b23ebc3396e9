// How the box of a layer follows the pointer.
#pragma once

#include <optional>

#include "base/text.hpp"
#include "viewer/fit.hpp"
#include "viewer/input.hpp"

namespace framewire {

/// No box becomes smaller than this, in pixels of the surface, and at least as much of each side stays on the surface.
inline constexpr int smallest_box_side = 16;

/// Which edges of a box are held: -1 the left or the upper one, 1 the right or the lower one, 0 neither.
struct Grip {
  int x = 0;
  int y = 0;
  bool operator==(const Grip&) const = default;
};

/// What a pointer at x, y would hold. Nothing if no edge is near. Edges can be held from both sides, but at least the
/// middle half of a box is left to move it by.
std::optional<Grip> grip_at(const PictureRectangle& box, double x, double y) noexcept;

PointerShape pointer_for(Grip grip) noexcept;

/// The following have start's result again for a distance of 0, also where `start` is beyond a limit. Sides of `start`
/// are at least 1, and no coordinate is larger than 2^24.

/// `start` after a move by dx, dy.
PictureRectangle moved(const PictureRectangle& start, int dx, int dy, Size surface) noexcept;

/// `start` after its grip was moved by dx, dy. The opposite edge or corner stays. A corner keeps the aspect; an edge
/// does if `keeps_aspect`. No side becomes longer than twice the surface's: pictures of layers take memory.
PictureRectangle resized(const PictureRectangle& start, Grip grip, int dx, int dy, bool keeps_aspect,
                         Size surface) noexcept;

}  // namespace framewire
