// Puts the pictures of several layers together.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/text.hpp"
#include "gl/blender.hpp"
#include "gl/canvas.hpp"
#include "gl/offscreen_target.hpp"
#include "viewer/layer.hpp"
#include "viewer/layout.hpp"
#include "viewer/scene.hpp"

namespace framewire {

/// How a layer is laid over what is below it.
struct LayerBlending {
  Blend blend = Blend::over;
  Alpha alpha = Alpha::opaque;
  double opacity = 1;
  bool operator==(const LayerBlending&) const = default;
};

/// A layer, and where it lies on the surface.
struct PlacedLayer {
  Layer* layer = nullptr;
  LayerBlending how{};
  PicturePlace at{};  // empty: it is not drawn
};

/// Keeps the composed picture, and composes again only where it has changed. A layer that others lie over or under, or
/// that is blended, keeps its picture at its size: it is converted and scaled only if its frame or its size has
/// changed. So does one that would be drawn again for the sake of others. In each call a layer is converted at most
/// once, and no pixel of it is blended twice. Used on the drawing thread.
class Compositor {
 public:
  /// Brings the picture up to date, and returns whether it has changed. `layers` are in order from the back. Throws
  /// Error as Layer::draw(), and if GL has no memory.
  bool compose(Size surface, std::span<const PlacedLayer> layers, bool blends_linear_light, std::int64_t now_ns);

  /// Copies the picture to the framebuffer `target` of the same size, which becomes bound: what has changed since the
  /// last call, or `everything`.
  void show(GLuint target, bool everything);

  /// The picture; null before compose().
  [[nodiscard]] const Canvas* canvas() const noexcept { return canvas_ ? &*canvas_ : nullptr; }

 private:
  /// A layer as it was composed the last time.
  struct Kept {
    PlacedLayer placed;
    std::uint64_t version = 0;
    bool is_direct = false;                    // drawn on the canvas without a picture of its own
    bool needs_picture = false;                // is not direct although it could be
    std::unique_ptr<OffscreenTarget> picture;  // of the visible part
    std::uint64_t picture_version = 0;
    PicturePlace picture_at;
  };

  bool follow_scene(Size surface, std::span<const PlacedLayer> layers, bool blends_linear_light);
  void find_damage(std::span<const PlacedLayer> layers, std::int64_t now_ns);
  void follow_layer(std::size_t index, bool is_settled, std::int64_t now_ns);
  void add_damage(PictureRectangle part);
  void compose_part(const PictureRectangle& part, std::int64_t now_ns);
  void update_picture(Kept& kept, std::int64_t now_ns);

  Blender blender_;
  std::optional<Canvas> canvas_;
  Size size_;
  bool blends_linear_light_ = false;
  std::vector<Kept> kept_;
  std::vector<PlacedLayer> layers_;        // with what is seen on the surface
  std::vector<PictureRectangle> damage_;   // disjoint; since the last compose()
  std::vector<PictureRectangle> unshown_;  // since the last show()
};

}  // namespace framewire
