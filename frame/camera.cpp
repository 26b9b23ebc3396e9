#include "frame/camera.hpp"

namespace framewire {

Camera orbiting_camera(double turn_rad, double lift_rad, double distance) noexcept {
  const double sin_turn = std::sin(turn_rad), cos_turn = std::cos(turn_rad);
  const double sin_lift = std::sin(lift_rad), cos_lift = std::cos(lift_rad);
  const std::array<double, 3> right{cos_turn, 0, -sin_turn};
  const std::array<double, 3> up{-sin_turn * sin_lift, cos_lift, -cos_turn * sin_lift};
  const std::array<double, 3> back{sin_turn * cos_lift, sin_lift, cos_turn * cos_lift};
  Camera camera;
  for (std::size_t row = 0; row < 3; ++row) {
    camera.to_world.at(4 * row) = static_cast<float>(right.at(row));
    camera.to_world.at(4 * row + 1) = static_cast<float>(up.at(row));
    camera.to_world.at(4 * row + 2) = static_cast<float>(back.at(row));
    camera.to_world.at(4 * row + 3) = static_cast<float>(back.at(row) * distance);
  }
  return camera;
}

Camera circling_camera(double time_s) noexcept {
  constexpr double rad_per_s = 0.2, lift_rad = 0.35;
  return orbiting_camera(rad_per_s * time_s, lift_rad, usual_camera_distance);
}

}  // namespace framewire
