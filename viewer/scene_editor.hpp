// Arranges the layers of a scene as the user wants them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/clock.hpp"
#include "base/text.hpp"
#include "viewer/dragged_box.hpp"
#include "viewer/input.hpp"
#include "viewer/layout.hpp"
#include "viewer/scene.hpp"

namespace framewire {

/// Turns input into another scene. What is clicked is what lay_out() and place() show. One picture that has the surface
/// for itself (is_one_picture()) can be shown pixel by pixel and panned, and nothing else. Logic only. One thread.
class SceneEditor {
 public:
  explicit SceneEditor(Scene given);

  /// Takes the place of the scene that was given before, and of all that the user did to it. Returns whether the user
  /// had done something.
  bool replace(Scene given);

  /// What the user sees.
  struct Seen {
    Size surface;
    std::span<const PictureShape> pictures;  // of the layers that were given, in their order
  };
  /// Returns whether there is something else to draw: scene(), order() or selection() has changed. Ignores input while
  /// the surface is empty, and pointers that are nowhere.
  bool take(const SceneInput& event, const Seen& seen, std::int64_t now_ns);
  /// Without input the frame of the selected layer disappears. Returns whether it does so now.
  bool pass_time(std::int64_t now_ns) noexcept;
  /// When pass_time() has something to do; INT64_MAX: never.
  [[nodiscard]] std::int64_t due_ns() const noexcept { return is_active_ ? input_ns_ + frame_ns : INT64_MAX; }

  [[nodiscard]] const Scene& scene() const noexcept { return scene_; }
  /// For each layer of scene(), which of the given ones it is.
  [[nodiscard]] const std::vector<std::size_t>& order() const noexcept { return order_; }
  [[nodiscard]] Selection selection() const noexcept;
  [[nodiscard]] PointerShape pointer() const noexcept { return pointer_; }

  /// How long the selected layer has its frame after the last input: an installation is not to show it.
  static constexpr std::int64_t frame_ns = 2 * ns_per_s;

 private:
  /// A button is held.
  struct Drag {
    enum class Kind { move, resize, pan };
    Kind kind;
    double from_x;
    double from_y;
    Grip grip{};
    bool has_begun = false;  // a click that trembles is none
    PictureRectangle start{};
    std::optional<Box> box_before{};
    Pan pan_before{};

    [[nodiscard]] bool is_held(const SceneInput& event) const noexcept {
      return kind == Kind::pan ? event.is_right_down : event.is_left_down;
    }
  };

  void press(const SceneInput& event, const Seen& seen);
  void follow_drag(const SceneInput& event, const Seen& seen);
  void begin_drag(const Seen& seen);
  void press_key(const SceneInput& event, const Seen& seen);
  void press_arrow(const SceneInput& event, const Seen& seen);
  void press_key_of_layer(SceneKey key);
  void select_next(bool backwards) noexcept;
  void reorder(bool to_front);
  void take_next_layout();
  void reset();
  void make_free(const Seen& seen);
  PictureRectangle begin_arranging(const Seen& seen);
  void set_box(const PictureRectangle& box, const Seen& seen);
  void set_pan(Pan pan, const Seen& seen);
  [[nodiscard]] Pan seen_pan(const Seen& seen) const;
  [[nodiscard]] bool is_alone() const { return is_one_picture(scene_); }
  [[nodiscard]] std::optional<std::size_t> target() const;
  [[nodiscard]] const PictureShape& picture(std::size_t index, const Seen& seen) const;
  [[nodiscard]] PictureRectangle outline(std::size_t index, const Seen& seen) const;
  [[nodiscard]] std::optional<std::size_t> layer_at(double x, double y, const Seen& seen) const;
  [[nodiscard]] PointerShape pointer_at(const SceneInput& event, const Seen& seen) const;

  Scene given_;
  Scene scene_;
  std::vector<std::size_t> order_;
  std::optional<std::size_t> selected_;  // of scene_'s layers
  std::optional<Drag> drag_;
  bool has_changed_ = false;  // in this take()
  bool is_active_ = false;    // there was input a moment ago
  std::int64_t input_ns_ = 0;
  PointerShape pointer_ = PointerShape::usual;
};

}  // namespace framewire
