#include "viewer/scene_editor.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <utility>

namespace framewire {

namespace {

/// A pointer that moves less than this with a button down clicks.
constexpr double click_pixels = 3;
/// Pointers are this near: sums of what comes from them stay small.
constexpr double farthest_pointer = 1 << 20;

constexpr std::array layout_cycle = {Layout::grid, Layout::side, Layout::pip, Layout::overlay};

bool is_stereo(Layout layout) noexcept {
  return layout == Layout::stereo_side || layout == Layout::stereo_top;
}

bool contains(const PictureRectangle& part, double x, double y) noexcept {
  return x >= part.x && y >= part.y && x < part.x + part.width && y < part.y + part.height;
}

Box on_canvas(const PictureRectangle& box, const CanvasView& view) noexcept {
  return {(box.x - view.x) / view.scale, (box.y - view.y) / view.scale, box.width / view.scale,
          box.height / view.scale};
}

/// For a layer that had no place in its layout.
PictureRectangle middle_of(Size surface) noexcept {
  const int width = std::max(static_cast<int>(surface.width) / 2, 1);
  const int height = std::max(static_cast<int>(surface.height) / 2, 1);
  return {(static_cast<int>(surface.width) - width) / 2, (static_cast<int>(surface.height) - height) / 2, width,
          height};
}

struct ArrowStep {
  int dx = 0;
  int dy = 0;
};

ArrowStep step_of(SceneKey key, int pixels) noexcept {
  switch (key) {
    case SceneKey::left:
      return {-pixels, 0};
    case SceneKey::right:
      return {pixels, 0};
    case SceneKey::up:
      return {0, -pixels};
    case SceneKey::down:
      return {0, pixels};
    default:
      return {};
  }
}

std::vector<std::size_t> usual_order(const Scene& scene) {
  std::vector<std::size_t> order(scene.layers.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  return order;
}

}  // namespace

SceneEditor::SceneEditor(Scene given) : given_(std::move(given)), scene_(given_), order_(usual_order(given_)) {}

bool SceneEditor::replace(Scene given) {
  const bool was_arranged = scene_ != given_ || order_ != usual_order(given_);
  given_ = std::move(given);
  selected_.reset();
  reset();
  pointer_ = PointerShape::usual;
  is_active_ = false;
  return was_arranged;
}

Selection SceneEditor::selection() const noexcept {
  const auto first = static_cast<std::size_t>(std::ranges::find(order_, std::size_t{0}) - order_.begin());
  return {.layer = selected_.value_or(first), .is_outlined = selected_ && is_active_};
}

bool SceneEditor::take(const SceneInput& event, const Seen& seen, std::int64_t now_ns) {
  const bool is_somewhere = std::abs(event.x) <= farthest_pointer && std::abs(event.y) <= farthest_pointer;  // not NaN
  if (scene_.layers.empty() || seen.surface.width == 0 || seen.surface.height == 0 || !is_somewhere) {
    return false;
  }
  const Selection before = selection();
  has_changed_ = false;
  const bool is_released = drag_ && !drag_->is_held(event);
  if (drag_ && (!is_released || event.kind == SceneInput::Kind::release)) {
    follow_drag(event, seen);
  }
  if (is_released) {
    drag_.reset();
  }
  if (event.kind == SceneInput::Kind::press && !drag_) {
    press(event, seen);
  } else if (event.kind == SceneInput::Kind::key) {
    press_key(event, seen);
  }
  input_ns_ = now_ns;
  is_active_ = !is_alone();
  pointer_ = pointer_at(event, seen);
  return has_changed_ || selection() != before;
}

bool SceneEditor::pass_time(std::int64_t now_ns) noexcept {
  if (now_ns < due_ns()) {
    return false;
  }
  is_active_ = false;
  pointer_ = PointerShape::usual;
  return selected_.has_value();
}

// ---- What is where ----

/// The layer that keys are about.
std::optional<std::size_t> SceneEditor::target() const {
  return is_alone() ? std::optional<std::size_t>(0) : selected_;
}

const PictureShape& SceneEditor::picture(std::size_t index, const Seen& seen) const {
  static constexpr PictureShape unknown;
  return order_[index] < seen.pictures.size() ? seen.pictures[order_[index]] : unknown;
}

PictureRectangle SceneEditor::outline(std::size_t index, const Seen& seen) const {
  return outline_of(scene_, index, picture(index, seen), seen.surface);
}

/// The front one of those that are seen there. A stream without a picture fills its box: what it waits for.
std::optional<std::size_t> SceneEditor::layer_at(double x, double y, const Seen& seen) const {
  const std::vector<PictureRectangle> boxes = lay_out(scene_, seen.surface);
  for (std::size_t i = boxes.size(); i-- > 0;) {
    const SceneLayer& layer = scene_.layers[i];
    const PictureShape& shape = picture(i, seen);
    const bool has_picture = shape.size.width > 0 && shape.size.height > 0;
    const PictureRectangle part =
        has_picture ? place(layer, scene_.layout, shape.size, shape.sample_aspect_ratio, boxes[i]).visible : boxes[i];
    if (!layer.is_hidden && layer.opacity > 0 && contains(part, x, y)) {
      return i;
    }
  }
  return std::nullopt;
}

PointerShape SceneEditor::pointer_at(const SceneInput& event, const Seen& seen) const {
  if (drag_) {
    return drag_->kind == Drag::Kind::resize ? pointer_for(drag_->grip)
           : drag_->has_begun                ? PointerShape::hand
                                             : PointerShape::arrow;
  }
  if (is_alone()) {
    return PointerShape::usual;
  }
  const auto grip = selected_ ? grip_at(outline(*selected_, seen), event.x, event.y) : std::nullopt;
  return grip ? pointer_for(*grip) : PointerShape::arrow;
}

// ---- The mouse ----

void SceneEditor::press(const SceneInput& event, const Seen& seen) {
  const bool is_left = event.button == PointerButton::left;
  Drag drag{.kind = is_left ? Drag::Kind::move : Drag::Kind::pan, .from_x = event.x, .from_y = event.y};
  if (is_alone()) {
    if (!is_left && scene_.layers[0].one_to_one) {
      drag_ = drag;
    }
    return;
  }
  if (is_left && selected_) {
    if (const auto grip = grip_at(outline(*selected_, seen), event.x, event.y)) {
      drag.kind = Drag::Kind::resize;
      drag.grip = *grip;
      drag_ = drag;
      return;
    }
  }
  const auto hit = layer_at(event.x, event.y, seen);
  if (is_left || (hit && scene_.layers[*hit].one_to_one)) {
    selected_ = hit;
    drag_ = hit ? std::optional(drag) : std::nullopt;
  }
}

void SceneEditor::follow_drag(const SceneInput& event, const Seen& seen) {
  const double way_x = event.x - drag_->from_x;
  const double way_y = event.y - drag_->from_y;
  if (!drag_->has_begun) {
    if (std::max(std::abs(way_x), std::abs(way_y)) < click_pixels) {
      return;
    }
    begin_drag(seen);
  }
  const int dx = static_cast<int>(std::lround(way_x));
  const int dy = static_cast<int>(std::lround(way_y));
  const Drag& drag = *drag_;
  if (drag.kind == Drag::Kind::pan) {
    set_pan({drag.pan_before.x + dx, drag.pan_before.y + dy}, seen);
    return;
  }
  const PictureRectangle box = drag.kind == Drag::Kind::move
                                   ? moved(drag.start, dx, dy, seen.surface)
                                   : resized(drag.start, drag.grip, dx, dy, event.has_shift, seen.surface);
  set_box(box, seen);
  if (box == drag.start) {  // exactly as it was, also where that was between two pixels
    scene_.layers[*selected_].box = drag.box_before;
  }
}

void SceneEditor::begin_drag(const Seen& seen) {
  drag_->has_begun = true;
  if (drag_->kind == Drag::Kind::pan) {
    drag_->pan_before = seen_pan(seen);
    return;
  }
  const bool was_free = scene_.layout == Layout::free;
  drag_->start = begin_arranging(seen);
  drag_->box_before =
      was_free ? scene_.layers[*selected_].box : on_canvas(drag_->start, view_canvas(scene_, seen.surface));
}

// ---- Keys ----

void SceneEditor::press_key(const SceneInput& event, const Seen& seen) {
  switch (event.key) {
    case SceneKey::select:
      select_next(event.has_shift);
      return;
    case SceneKey::left:
    case SceneKey::right:
    case SceneKey::up:
    case SceneKey::down:
      press_arrow(event, seen);
      return;
    case SceneKey::next_layout:
      take_next_layout();
      return;
    case SceneKey::reset:
      has_changed_ = true;
      reset();
      return;
    case SceneKey::to_front:
    case SceneKey::to_back:
    case SceneKey::hide:
    case SceneKey::zoom:
      press_key_of_layer(event.key);
      return;
  }
}

void SceneEditor::press_key_of_layer(SceneKey key) {
  const auto index = target();
  if (!index) {
    return;
  }
  SceneLayer& layer = scene_.layers[*index];
  if (key == SceneKey::zoom) {
    layer.one_to_one = layer.one_to_one ? std::nullopt : std::optional<Pan>(Pan{});
    drag_.reset();  // it may be panning
    has_changed_ = true;
  } else if (!is_alone() && key == SceneKey::hide) {
    layer.is_hidden = !layer.is_hidden;
    has_changed_ = true;
  } else if (!is_alone()) {
    reorder(key == SceneKey::to_front);
  }
}

/// Moves the layer, or what is seen of a picture that is shown pixel by pixel.
void SceneEditor::press_arrow(const SceneInput& event, const Seen& seen) {
  const auto index = target();
  if (!index || drag_) {
    return;
  }
  const ArrowStep step = step_of(event.key, event.has_shift ? 10 : 1);
  if (scene_.layers[*index].one_to_one) {
    const Pan pan = seen_pan(seen);
    set_pan({pan.x - step.dx, pan.y - step.dy}, seen);
  } else if (!is_alone()) {
    set_box(moved(begin_arranging(seen), step.dx, step.dy, seen.surface), seen);
  }
}

/// In the order in which the streams were given, which does not change while one looks for a layer.
void SceneEditor::select_next(bool backwards) noexcept {
  const std::size_t count = order_.size();
  if (is_alone()) {
    return;
  }
  const std::size_t stream = !selected_  ? (backwards ? count - 1 : 0)
                             : backwards ? (order_[*selected_] + count - 1) % count
                                         : (order_[*selected_] + 1) % count;
  selected_ = static_cast<std::size_t>(std::ranges::find(order_, stream) - order_.begin());
  drag_.reset();
}

void SceneEditor::reorder(bool to_front) {
  const auto at = static_cast<std::ptrdiff_t>(*selected_);
  const auto move_in = [&](auto& items) {
    if (to_front) {
      std::rotate(items.begin() + at, items.begin() + at + 1, items.end());
    } else {
      std::rotate(items.begin(), items.begin() + at, items.begin() + at + 1);
    }
  };
  move_in(scene_.layers);
  move_in(order_);
  selected_ = to_front ? order_.size() - 1 : 0;
  has_changed_ = true;
}

/// A layer of which nobody has said what its alpha means takes what is usual in the new layout.
void SceneEditor::take_next_layout() {
  if (is_alone()) {
    return;
  }
  const auto* const now = std::ranges::find(layout_cycle, scene_.layout);
  const Layout next = now == layout_cycle.end() || now + 1 == layout_cycle.end() ? layout_cycle[0] : *(now + 1);
  scene_.layout = next;
  scene_.canvas = given_.canvas;
  for (std::size_t i = 0; i < order_.size(); ++i) {
    const SceneLayer& given = given_.layers[order_[i]];
    SceneLayer layer = given;
    layer.alpha = given.says_alpha ? given.alpha : usual_alpha(next, i, given.blend);
    layer.is_hidden = scene_.layers[i].is_hidden;
    layer.one_to_one = scene_.layers[i].one_to_one;
    scene_.layers[i] = std::move(layer);
  }
  drag_.reset();
  has_changed_ = true;
}

/// The stream that was selected stays selected.
void SceneEditor::reset() {
  selected_ = selected_ ? std::optional(order_[*selected_]) : std::nullopt;
  scene_ = given_;
  order_ = usual_order(given_);
  drag_.reset();
}

// ---- Boxes ----

/// Gives every layer the box that it has now. The canvas is what is seen now, so that the scene grows with the surface.
void SceneEditor::make_free(const Seen& seen) {
  const CanvasView view = view_canvas(scene_, seen.surface);
  Scene made = scene_;
  made.layout = Layout::free;
  made.canvas = Size{static_cast<std::uint32_t>(view.width), static_cast<std::uint32_t>(view.height)};
  if (scene_.layout != Layout::free) {
    const std::vector<PictureRectangle> boxes = lay_out(scene_, seen.surface);
    for (std::size_t i = 0; i < boxes.size(); ++i) {
      SceneLayer& layer = made.layers[i];
      PictureRectangle box = layer.is_hidden ? outline(i, seen) : boxes[i];
      if (is_stereo(scene_.layout) && layer.fit == Fit::contain && !layer.one_to_one) {
        box = outline(i, seen);
        layer.fit = Fit::fill;  // only stereo layouts squeeze pictures otherwise
      }
      if (is_empty(box)) {
        box = middle_of(seen.surface);
        layer.is_hidden = true;
      }
      layer.box = on_canvas(box, view);
    }
  }
  scene_ = std::move(made);
}

/// Returns where the selected layer is before it is moved or resized.
PictureRectangle SceneEditor::begin_arranging(const Seen& seen) {
  const PictureRectangle before = outline(*selected_, seen);
  make_free(seen);
  return before.width > 0 ? before : outline(*selected_, seen);
}

void SceneEditor::set_box(const PictureRectangle& box, const Seen& seen) {
  scene_.layers[*selected_].box = on_canvas(box, view_canvas(scene_, seen.surface));
  has_changed_ = true;
}

/// No further than the picture's edge, as far as its size is known.
void SceneEditor::set_pan(Pan pan, const Seen& seen) {
  std::optional<Pan>& kept = scene_.layers[*target()].one_to_one;
  const std::optional<Pan> before = std::exchange(kept, pan);
  kept = seen_pan(seen);
  has_changed_ = has_changed_ || kept != before;
}

/// How far the picture of the target is from the middle.
Pan SceneEditor::seen_pan(const Seen& seen) const {
  const std::size_t index = *target();
  SceneLayer layer = scene_.layers[index];
  const PictureRectangle box = outline(index, seen);
  const PictureShape& shape = picture(index, seen);
  const auto picture_at = [&] {
    return place(layer, scene_.layout, shape.size, shape.sample_aspect_ratio, box).picture;
  };
  const PictureRectangle panned = picture_at();
  layer.one_to_one = Pan{};
  const PictureRectangle centred = picture_at();
  return {panned.x - centred.x, panned.y - centred.y};
}

}  // namespace framewire
