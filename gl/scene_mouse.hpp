// What a viewer's mouse does to a scene, as Shadertoy has it.
#pragma once

#include <array>
#include <cstdint>

#include "input/events.hpp"

namespace framewire {

/// One thread.
class SceneMouse {
 public:
  /// The scene's height in pixels: its coordinates count from the bottom.
  explicit SceneMouse(std::uint32_t height) noexcept : height_(height) {}

  void take(const InputEvent& event) noexcept;

  /// iMouse, of the frame that is drawn next: the place of the left button while it is pressed, or of its last drag,
  /// and the place of the last click. z is positive while the button is pressed, w in the click's first frame
  /// (https://www.shadertoy.com/howto).
  [[nodiscard]] std::array<float, 4> position() noexcept;
  /// iDrag: pixels over which the pointer was moved with the left button pressed, in all; upwards is positive.
  [[nodiscard]] std::array<float, 2> drag() const noexcept { return to_floats(drag_); }
  /// iWheel: notches in all, positive to the right and away from the user.
  [[nodiscard]] std::array<float, 2> wheel() const noexcept { return to_floats(wheel_); }

 private:
  using Vector = std::array<double, 2>;
  static std::array<float, 2> to_floats(const Vector& value) noexcept {
    return {static_cast<float>(value[0]), static_cast<float>(value[1])};
  }
  void move(const PointerInput& pointer) noexcept;
  void press(const ButtonInput& button) noexcept;

  double height_;
  bool is_pressed_ = false;
  bool has_clicked_ = false;  // since the last position()
  Vector at_{};
  Vector clicked_{};
  Vector drag_{};
  Vector wheel_{};
};

}  // namespace framewire
