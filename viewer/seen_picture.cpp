#include "viewer/seen_picture.hpp"

namespace framewire {

FramePosition way_in_frame(const SeenPicture& picture, double dx, double dy) noexcept {
  const PictureRectangle& all = picture.at.picture;
  return {dx * picture.frame.width / all.width, dy * picture.frame.height / all.height};
}

FramePosition position_in_frame(const SeenPicture& picture, double x, double y) noexcept {
  return way_in_frame(picture, x - picture.at.picture.x, y - picture.at.picture.y);
}

std::optional<std::size_t> picture_at(std::span<const SeenPicture> pictures, double x, double y) noexcept {
  for (std::size_t i = pictures.size(); i-- > 0;) {
    const PictureRectangle& part = pictures[i].at.visible;
    if (x >= part.x && y >= part.y && x < part.x + part.width && y < part.y + part.height) {
      return i;
    }
  }
  return std::nullopt;
}

}  // namespace framewire
