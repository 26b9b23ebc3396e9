#include "viewer/dragged_box.hpp"

#include <algorithm>
#include <cmath>

namespace framewire {

namespace {

constexpr double edge_reach = 6;
constexpr double corner_reach = 14;  // along an edge

/// -1, 0 or 1: whether `at` is near the low or the high end.
int near_end(double at, double low, double high, double reach) noexcept {
  const double inner = std::min(reach, (high - low) / 4);
  return at <= low + inner ? -1 : at >= high - inner ? 1 : 0;
}

/// One coordinate of a box, so that enough of it stays on the surface. A box may be where it began.
int kept_on_surface(int at, int side, int start, std::uint32_t surface_side) noexcept {
  const int surface = static_cast<int>(surface_side);
  const int kept = std::min({smallest_box_side, side, surface});
  return std::clamp(at, std::min(kept - side, start), std::max(surface - kept, start));
}

struct SideLimits {
  double least;
  double most;
};

SideLimits limits_of(int start_side, std::uint32_t surface_side) noexcept {
  return {std::min<double>(smallest_box_side, start_side), std::max<double>(2.0 * surface_side, start_side)};
}

int rounded_side(double side) noexcept {
  return static_cast<int>(std::lround(side));
}

/// The sides times one factor, which the pointer's way along the diagonal, or across the edge, gives.
PictureRectangle scaled_sides(const PictureRectangle& start, Grip grip, int dx, int dy, const SideLimits& wide,
                              const SideLimits& high) noexcept {
  const double width = start.width;
  const double height = start.height;
  const double across = grip.x == 0 ? 0 : width;
  const double down = grip.y == 0 ? 0 : height;
  const double wanted = 1 + (grip.x * dx * across + grip.y * dy * down) / (across * across + down * down);
  const double least = std::max(wide.least / width, high.least / height);
  const double most = std::min(wide.most / width, high.most / height);
  const double factor = std::clamp(wanted, least, std::max(least, most));
  PictureRectangle sides = start;
  sides.width = std::max(rounded_side(width * factor), rounded_side(wide.least));
  sides.height = std::max(rounded_side(sides.width * height / width), rounded_side(high.least));
  return sides;
}

/// Where a side begins if the edge opposite of the held one stays, or the middle if neither is held.
int begin_of(int start, int start_side, int side, int held) noexcept {
  return held < 0 ? start + start_side - side : held > 0 ? start : start + (start_side - side) / 2;
}

}  // namespace

std::optional<Grip> grip_at(const PictureRectangle& box, double x, double y) noexcept {
  const double left = box.x, right = left + box.width, top = box.y, bottom = top + box.height;
  if (x < left - edge_reach || x > right + edge_reach || y < top - edge_reach || y > bottom + edge_reach) {
    return std::nullopt;
  }
  Grip grip{near_end(x, left, right, edge_reach), near_end(y, top, bottom, edge_reach)};
  if (grip.x != 0 && grip.y == 0) {
    grip.y = near_end(y, top, bottom, corner_reach);
  } else if (grip.y != 0 && grip.x == 0) {
    grip.x = near_end(x, left, right, corner_reach);
  }
  return grip == Grip{} ? std::nullopt : std::optional(grip);
}

PointerShape pointer_for(Grip grip) noexcept {
  if (grip.x == 0) {
    return PointerShape::resize_y;
  }
  if (grip.y == 0) {
    return PointerShape::resize_x;
  }
  return grip.x == grip.y ? PointerShape::resize_falling : PointerShape::resize_rising;
}

PictureRectangle moved(const PictureRectangle& start, int dx, int dy, Size surface) noexcept {
  return {kept_on_surface(start.x + dx, start.width, start.x, surface.width),
          kept_on_surface(start.y + dy, start.height, start.y, surface.height), start.width, start.height};
}

PictureRectangle resized(const PictureRectangle& start, Grip grip, int dx, int dy, bool keeps_aspect,
                         Size surface) noexcept {
  if (dx == 0 && dy == 0) {
    return start;
  }
  const SideLimits wide = limits_of(start.width, surface.width);
  const SideLimits high = limits_of(start.height, surface.height);
  PictureRectangle box = start;
  if (keeps_aspect || (grip.x != 0 && grip.y != 0)) {
    box = scaled_sides(start, grip, dx, dy, wide, high);
  } else {
    box.width = rounded_side(std::clamp<double>(start.width + grip.x * dx, wide.least, wide.most));
    box.height = rounded_side(std::clamp<double>(start.height + grip.y * dy, high.least, high.most));
  }
  box.x = kept_on_surface(begin_of(start.x, start.width, box.width, grip.x), box.width, start.x, surface.width);
  box.y = kept_on_surface(begin_of(start.y, start.height, box.height, grip.y), box.height, start.y, surface.height);
  return box;
}

}  // namespace framewire
