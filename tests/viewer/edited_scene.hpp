// A scene editor, and a user.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "viewer/scene_editor.hpp"

namespace framewire {

inline constexpr Size editor_surface{1280, 720};

/// Moves, presses and types as a user does, and looks at what is shown then.
class SceneEditorTest : public testing::Test {
 protected:
  /// Streams of 640x360, one a layer.
  void begin(Layout layout, std::size_t count) {
    Scene scene;
    scene.layout = layout;
    for (std::size_t i = 0; i < count; ++i) {
      scene.layers.push_back({.source = "stream" + std::to_string(i)});
    }
    begin(scene);
  }
  void begin(const Scene& scene) {
    given_ = scene;
    editor_ = SceneEditor(scene);
    pictures_.assign(scene.layers.size(), {.size = {640, 360}});
  }

  bool give(SceneInput event) {
    event.x = event.kind == SceneInput::Kind::key ? x_ : event.x;
    event.y = event.kind == SceneInput::Kind::key ? y_ : event.y;
    event.has_shift = event.has_shift || has_shift_;
    event.is_left_down = is_left_down_;
    event.is_right_down = is_right_down_;
    x_ = event.x;
    y_ = event.y;
    return editor_.take(event, {.surface = surface_, .pictures = pictures_}, now_ns_);
  }
  bool key(SceneKey key, bool has_shift = false) {
    return give({.kind = SceneInput::Kind::key, .key = key, .has_shift = has_shift});
  }
  bool move(double x, double y) { return give({.kind = SceneInput::Kind::move, .x = x, .y = y}); }
  bool press(double x, double y, PointerButton button = PointerButton::left) {
    (button == PointerButton::left ? is_left_down_ : is_right_down_) = true;
    return give({.kind = SceneInput::Kind::press, .button = button, .x = x, .y = y});
  }
  bool release(PointerButton button = PointerButton::left) {
    (button == PointerButton::left ? is_left_down_ : is_right_down_) = false;
    return give({.kind = SceneInput::Kind::release, .button = button, .x = x_, .y = y_});
  }
  void click(double x, double y) {
    press(x, y);
    release();
  }
  void drag(double x, double y, double dx, double dy, PointerButton button = PointerButton::left) {
    press(x, y, button);
    move(x + dx / 2, y + dy / 2);
    move(x + dx, y + dy);
    release(button);
  }

  [[nodiscard]] std::vector<PictureRectangle> boxes() const { return lay_out(editor_.scene(), surface_); }
  /// What is seen of the stream that was given at `index`.
  [[nodiscard]] PicturePlace placed(std::size_t index) const {
    const auto& order = editor_.order();
    const auto at = static_cast<std::size_t>(std::ranges::find(order, index) - order.begin());
    const PictureShape& shape = pictures_[index];
    return place(editor_.scene().layers[at], editor_.scene().layout, shape.size, shape.sample_aspect_ratio,
                 boxes()[at]);
  }
  [[nodiscard]] PictureRectangle visible(std::size_t index) const { return placed(index).visible; }
  /// The source of the selected layer, or nothing.
  [[nodiscard]] std::string selected() const {
    const Selection selection = editor_.selection();
    return selection.is_outlined ? editor_.scene().layers.at(selection.layer).source : "";
  }

  Scene given_;
  SceneEditor editor_{Scene{}};
  std::vector<PictureShape> pictures_;
  Size surface_ = editor_surface;
  std::int64_t now_ns_ = ns_per_s;
  double x_ = 0;
  double y_ = 0;
  bool has_shift_ = false;
  bool is_left_down_ = false;
  bool is_right_down_ = false;
};

}  // namespace framewire
