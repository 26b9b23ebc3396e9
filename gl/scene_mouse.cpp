#include "gl/scene_mouse.hpp"

#include <utility>
#include <variant>

namespace framewire {

void SceneMouse::take(const InputEvent& event) noexcept {
  if (const auto* const pointer = std::get_if<PointerInput>(&event.what)) {
    move(*pointer);
  } else if (const auto* const button = std::get_if<ButtonInput>(&event.what)) {
    press(*button);
  } else if (const auto* const wheel = std::get_if<WheelInput>(&event.what)) {
    wheel_[0] += wheel->dx;
    wheel_[1] += wheel->dy;
  }
}

void SceneMouse::move(const PointerInput& pointer) noexcept {
  if (!is_pressed_) {
    return;
  }
  drag_[0] += pointer.dx;
  drag_[1] -= pointer.dy;
  at_ = pointer.is_locked ? Vector{at_[0] + pointer.dx, at_[1] - pointer.dy} : Vector{pointer.x, height_ - pointer.y};
}

void SceneMouse::press(const ButtonInput& button) noexcept {
  if (button.button != InputButton::left || button.is_pressed == is_pressed_) {
    return;
  }
  is_pressed_ = button.is_pressed;
  if (is_pressed_) {
    at_ = clicked_ = {button.x, height_ - button.y};
    has_clicked_ = true;
  }
}

std::array<float, 4> SceneMouse::position() noexcept {
  const bool is_first = std::exchange(has_clicked_, false);
  return {static_cast<float>(at_[0]), static_cast<float>(at_[1]),
          static_cast<float>(is_pressed_ ? clicked_[0] : -clicked_[0]),
          static_cast<float>(is_first ? clicked_[1] : -clicked_[1])};
}

}  // namespace framewire
