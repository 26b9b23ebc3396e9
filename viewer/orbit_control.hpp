// Moves a camera around a scene, by mouse and keys.
#pragma once

#include <algorithm>
#include <cmath>

#include "frame/camera.hpp"
#include "viewer/input.hpp"

namespace framewire {

/// Keeps looking at the middle of the scene. A value.
class OrbitControl {
 public:
  static constexpr double rad_per_pixel = 0.008;   // of a drag
  static constexpr double rad_per_key = 0.05;      // of an arrow; with Shift a tenth
  static constexpr double highest_lift_rad = 1.5;  // a little less than a quarter turn
  static constexpr double nearer_per_notch = 0.9;  // of the wheel, and for Page Up
  static constexpr double nearest = 0.05, farthest = 1000;

  /// Returns whether the camera has moved.
  bool take(const SceneInput& event) noexcept {
    const OrbitControl before = *this;
    switch (event.kind) {
      case SceneInput::Kind::move:
        if (event.is_left_down) {
          turn(-(event.x - x_) * rad_per_pixel, (event.y - y_) * rad_per_pixel);
        }
        break;
      case SceneInput::Kind::wheel:
        scale(std::pow(nearer_per_notch, std::clamp(event.notches, -20.0, 20.0)));
        break;
      case SceneInput::Kind::key:
        press(event.key, event.has_shift ? rad_per_key / 10 : rad_per_key);
        break;
      case SceneInput::Kind::press:
      case SceneInput::Kind::release:
        break;
    }
    if (event.kind != SceneInput::Kind::key) {
      x_ = event.x;
      y_ = event.y;
    }
    return turn_rad_ != before.turn_rad_ || lift_rad_ != before.lift_rad_ || distance_ != before.distance_;
  }

  [[nodiscard]] Camera camera() const noexcept { return orbiting_camera(turn_rad_, lift_rad_, distance_); }

 private:
  void press(SceneKey key, double step_rad) noexcept {
    switch (key) {
      case SceneKey::left:
        return turn(-step_rad, 0);
      case SceneKey::right:
        return turn(step_rad, 0);
      case SceneKey::up:
        return turn(0, step_rad);
      case SceneKey::down:
        return turn(0, -step_rad);
      case SceneKey::to_front:
        return scale(nearer_per_notch);
      case SceneKey::to_back:
        return scale(1 / nearer_per_notch);
      case SceneKey::reset:
        turn_rad_ = usual_turn_rad;
        lift_rad_ = usual_lift_rad;
        distance_ = usual_camera_distance;
        return;
      default:
        return;
    }
  }
  void turn(double turn_rad, double lift_rad) noexcept {
    turn_rad_ = std::remainder(turn_rad_ + turn_rad, 2 * pi);
    lift_rad_ = std::clamp(lift_rad_ + lift_rad, -highest_lift_rad, highest_lift_rad);
  }
  void scale(double factor) noexcept { distance_ = std::clamp(distance_ * factor, nearest, farthest); }

  static constexpr double pi = 3.14159265358979323846;
  static constexpr double usual_turn_rad = 0.5, usual_lift_rad = 0.35;

  double turn_rad_ = usual_turn_rad;
  double lift_rad_ = usual_lift_rad;
  double distance_ = usual_camera_distance;
  double x_ = 0;  // of the pointer
  double y_ = 0;
};

}  // namespace framewire
