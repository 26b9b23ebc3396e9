// From where a scene is rendered, and when.
#pragma once

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>

namespace framewire {

/// A pinhole camera in the scene's unit. It looks along its own -z; x is to its right, y up (OpenGL's eye space). The
/// middle of the picture is straight ahead, and pixels are square.
struct Camera {
  /// From eye space to the scene's: the rows of a 3x4 matrix. Its columns are the camera's right, up, back and
  /// position.
  std::array<float, 12> to_world{1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0};
  float field_of_view_rad = 0.8F;  // of the picture's height
  bool operator==(const Camera&) const = default;
};

/// What a viewer asks of a source that renders: one frame, which has `id` as its user tag.
struct RenderRequest {
  std::uint64_t id = 0;  // not 0
  Camera camera{};
  std::int64_t time_ns = 0;  // of the animation
  bool operator==(const RenderRequest&) const = default;
};

/// A camera that looks at the origin from `distance`. `turn_rad` moves it around the y axis, to its right; `lift_rad`
/// upwards, to less than a quarter turn.
Camera orbiting_camera(double turn_rad, double lift_rad, double distance) noexcept;

/// From here all of a scene of the usual size is seen.
inline constexpr double usual_camera_distance = 4.6;

/// Circles around the scene: from where it is seen at this time of its animation, if nobody moves the camera.
Camera circling_camera(double time_s) noexcept;

/// Whether numbers from a peer can be a camera: finite, no larger than 1e9, an opening below a half turn.
inline bool is_possible(const Camera& camera) noexcept {
  constexpr float largest = 1e9F;
  constexpr float half_turn_rad = 3.1F;
  for (const float value : camera.to_world) {
    if (!(std::abs(value) <= largest)) {  // also for NaN
      return false;
    }
  }
  return camera.field_of_view_rad > 0 && camera.field_of_view_rad < half_turn_rad;
}

}  // namespace framewire
