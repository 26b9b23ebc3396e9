// What a user does to the picture with keys and mouse.
#pragma once

#include <array>
#include <cstddef>

namespace framewire {

/// What a key asks for. viewer/keys.hpp says which key.
enum class SceneKey {
  select,  // the next layer, with Shift the one before
  left,
  right,
  up,
  down,
  to_front,
  to_back,
  hide,  // or show
  zoom,  // to one_to_one, and back
  next_layout,
  reset,
};

/// How the pointer looks.
enum class PointerShape {
  usual,  // as a window has it; none in fullscreen
  arrow,  // also in fullscreen
  hand,
  resize_x,
  resize_y,
  resize_falling,  // from the top left to the bottom right
  resize_rising,
};
inline constexpr std::size_t pointer_shape_count = 7;

enum class PointerButton { left, right };

/// A key or a button was pressed, a button was released, the wheel was turned, or the pointer was moved.
struct SceneInput {
  enum class Kind { key, press, release, move, wheel };
  Kind kind = Kind::move;
  SceneKey key{};          // of Kind::key
  PointerButton button{};  // of Kind::press and release
  double x = 0;            // of the pointer in pixels of the surface, from its top left; may be outside
  double y = 0;
  double notches = 0;  // of Kind::wheel: how far, positive away from the user
  bool has_shift = false;
  bool is_left_down = false;  // the buttons after the event
  bool is_right_down = false;
};

/// A few of them, in their order. Of moves that follow one another the last one stays. A user makes no more events than
/// there is room for in the milliseconds until they are taken; later ones would be lost, which is_left_down and
/// is_right_down of the next one mend.
class SceneInputs {
 public:
  void add(const SceneInput& event) noexcept {
    const bool is_move = event.kind == SceneInput::Kind::move;
    if (is_move && count_ > 0 && events_.at(count_ - 1).kind == SceneInput::Kind::move) {
      events_.at(count_ - 1) = event;
    } else if (count_ < events_.size()) {
      events_.at(count_++) = event;
    }
  }
  [[nodiscard]] bool empty() const noexcept { return count_ == 0; }
  [[nodiscard]] const SceneInput* begin() const noexcept { return events_.data(); }
  [[nodiscard]] const SceneInput* end() const noexcept { return events_.data() + count_; }

 private:
  std::array<SceneInput, 64> events_{};
  std::size_t count_ = 0;
};

}  // namespace framewire
