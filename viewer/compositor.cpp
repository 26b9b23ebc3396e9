#include "viewer/compositor.hpp"

#include <algorithm>
#include <utility>

namespace framewire {

namespace {

bool overlap(const PictureRectangle& a, const PictureRectangle& b) noexcept {
  return !is_empty(common_part(a, b));
}

PictureRectangle bounds(const PictureRectangle& a, const PictureRectangle& b) noexcept {
  const int left = std::min(a.x, b.x), top = std::min(a.y, b.y);
  const int right = std::max(a.x + a.width, b.x + b.width), bottom = std::max(a.y + a.height, b.y + b.height);
  return {left, top, right - left, bottom - top};
}

Size size_of(const PictureRectangle& a) noexcept {
  return {static_cast<std::uint32_t>(a.width), static_cast<std::uint32_t>(a.height)};
}

/// Whether a picture of the visible part is the same at both places.
bool has_same_pixels(const PicturePlace& a, const PicturePlace& b) noexcept {
  return size_of(a.picture) == size_of(b.picture) && size_of(a.visible) == size_of(b.visible) &&
         a.visible.x - a.picture.x == b.visible.x - b.picture.x &&
         a.visible.y - a.picture.y == b.visible.y - b.picture.y;
}

/// Whether a layer can be drawn on the canvas as it is: what is below it does not matter, and nothing is over it.
bool can_be_direct(std::span<const PlacedLayer> layers, std::size_t index, const PictureRectangle& everything) {
  const PlacedLayer& placed = layers[index];
  const bool covers = placed.how.blend == Blend::over && placed.how.opacity >= 1 && placed.how.alpha == Alpha::opaque;
  if (!covers || common_part(placed.at.picture, everything) != placed.at.visible) {
    return false;
  }
  for (std::size_t i = 0; i < layers.size(); ++i) {
    if (i != index && overlap(layers[i].at.visible, placed.at.visible)) {
      return false;
    }
  }
  return true;
}

}  // namespace

bool Compositor::compose(Size surface, std::span<const PlacedLayer> all_layers, bool blends_linear_light,
                         std::int64_t now_ns) {
  const PictureRectangle everything = whole_of(surface);
  layers_.assign(all_layers.begin(), all_layers.end());
  for (PlacedLayer& placed : layers_) {
    placed.at.visible = common_part(placed.at.visible, everything);
  }
  const std::span<const PlacedLayer> layers = layers_;
  damage_.clear();
  bool is_settled = follow_scene(surface, layers, blends_linear_light);
  if (is_settled) {
    find_damage(layers, now_ns);
    is_settled = std::ranges::equal(
        kept_, layers, [](const Kept& kept, const PlacedLayer& placed) { return kept.placed.at == placed.at; });
  } else {
    damage_.push_back(everything);
  }
  for (std::size_t i = 0; i < layers.size(); ++i) {
    follow_layer(i, is_settled, now_ns);
  }
  for (const PictureRectangle& part : damage_) {
    compose_part(part, now_ns);
    unshown_.push_back(part);
  }
  return !damage_.empty();
}

/// Returns whether the layers, and how they are blended, are as before.
bool Compositor::follow_scene(Size surface, std::span<const PlacedLayer> layers, bool blends_linear_light) {
  const bool is_same_canvas = canvas_ && size_ == surface && blends_linear_light_ == blends_linear_light;
  if (!is_same_canvas) {
    canvas_.reset();
    canvas_.emplace(surface);
    size_ = surface;
    blends_linear_light_ = blends_linear_light;
    unshown_.clear();
  }
  const bool are_same_layers = std::ranges::equal(kept_, layers, [](const Kept& kept, const PlacedLayer& placed) {
    // Where they lie is compared by itself: while one is moved, the others keep their pictures.
    return kept.placed.layer == placed.layer && kept.placed.how == placed.how;
  });
  if (!are_same_layers) {
    kept_.clear();
    kept_.resize(layers.size());
  }
  return is_same_canvas && are_same_layers;
}

void Compositor::find_damage(std::span<const PlacedLayer> layers, std::int64_t now_ns) {
  for (std::size_t i = 0; i < layers.size(); ++i) {
    const Kept& kept = kept_[i];
    const Layer& layer = *layers[i].layer;
    if (layer.version() != kept.version || layers[i].at != kept.placed.at || layer.can_be_improved(now_ns)) {
      add_damage(layers[i].at.visible);
      add_damage(kept.placed.at.visible);
    }
  }
}

/// Parts that overlap become one, so that nothing is composed twice.
void Compositor::add_damage(PictureRectangle part) {
  part = common_part(part, whole_of(size_));
  if (is_empty(part)) {
    return;
  }
  for (std::size_t i = 0; i < damage_.size();) {
    if (overlap(damage_[i], part)) {
      part = bounds(damage_[i], part);
      damage_.erase(damage_.begin() + static_cast<std::ptrdiff_t>(i));
      i = 0;
    } else {
      ++i;
    }
  }
  damage_.push_back(part);
}

/// Decides how a layer is drawn. Damage reaches beyond what has changed, and so may reach layers that have not: those
/// are blended from a picture. If nothing was moved, that will happen again: the layer keeps its picture until
/// something is.
void Compositor::follow_layer(std::size_t index, bool is_settled, std::int64_t now_ns) {
  Kept& kept = kept_[index];
  const PlacedLayer& placed = layers_[index];
  const bool has_changed =
      kept.placed.at != placed.at || kept.version != placed.layer->version() || placed.layer->can_be_improved(now_ns);
  const bool is_drawn_for_others = !has_changed && std::ranges::any_of(damage_, [&](const PictureRectangle& part) {
    return overlap(part, placed.at.visible);
  });
  kept.needs_picture = is_settled && (kept.needs_picture || (kept.is_direct && is_drawn_for_others));
  kept.is_direct = !kept.needs_picture && (has_changed || (kept.is_direct && !is_drawn_for_others)) &&
                   can_be_direct(layers_, index, whole_of(size_));
  kept.placed = placed;
  kept.version = placed.layer->version();
}

void Compositor::compose_part(const PictureRectangle& part, std::int64_t now_ns) {
  for (Kept& kept : kept_) {
    if (!kept.is_direct && overlap(kept.placed.at.visible, part)) {
      update_picture(kept, now_ns);
    }
  }
  canvas_->clear(gl_rectangle(part, size_));
  const BlendValues values = blends_linear_light_ ? BlendValues::linear_light : BlendValues::coded;
  for (const Kept& kept : kept_) {
    const PlacedLayer& placed = kept.placed;
    if (!placed.layer->has_picture() || !overlap(placed.at.visible, part)) {
      continue;
    }
    if (kept.is_direct) {
      const Canvas::Drawing drawing = canvas_->draw(BlendValues::coded);
      placed.layer->draw(gl_rectangle(placed.at.picture, size_), size_, now_ns, Alpha::opaque);
    } else {
      const Canvas::Drawing drawing = canvas_->draw(values);
      blender_.draw({.texture = kept.picture->texture(),
                     .place = gl_rectangle(placed.at.visible, size_),
                     .blend = placed.how.blend,
                     .opacity = placed.how.opacity,
                     .values = values},
                    gl_rectangle(part, size_));
    }
  }
}

/// The picture of a layer has the size of its visible part.
void Compositor::update_picture(Kept& kept, std::int64_t now_ns) {
  Layer& layer = *kept.placed.layer;
  const PicturePlace& at = kept.placed.at;
  const bool is_current = kept.picture && kept.picture_version == kept.version &&
                          has_same_pixels(kept.picture_at, at) && !layer.can_be_improved(now_ns);
  if (is_current || !layer.has_picture()) {
    return;
  }
  const Size size = size_of(at.visible);
  if (!kept.picture || kept.picture->size() != size) {
    kept.picture.reset();
    kept.picture = std::make_unique<OffscreenTarget>(size);
  }
  kept.picture->bind();
  const Rectangle target{at.picture.x - at.visible.x,
                         at.visible.y + at.visible.height - at.picture.y - at.picture.height, at.picture.width,
                         at.picture.height};
  layer.draw(target, size, now_ns, kept.placed.how.alpha);
  if (layer.cannot_be_drawn()) {
    glClearColor(0, 0, 0, 0);
    glClear(GL_COLOR_BUFFER_BIT);
  }
  kept.picture_version = kept.version;
  kept.picture_at = at;
}

void Compositor::show(GLuint target, bool everything) {
  glBindFramebuffer(GL_FRAMEBUFFER, target);
  if (everything) {
    canvas_->show(gl_rectangle(whole_of(size_), size_));
  } else {
    for (const PictureRectangle& part : unshown_) {
      canvas_->show(gl_rectangle(part, size_));
    }
  }
  unshown_.clear();
  glViewport(0, 0, static_cast<GLsizei>(size_.width), static_cast<GLsizei>(size_.height));
}

}  // namespace framewire
