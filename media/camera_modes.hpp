// What a camera offers, and which of it to take. Internal to media/.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/text.hpp"

namespace framewire::libav {

/// One way in which a camera gives pictures.
struct CameraMode {
  std::string format;  // libav's name for it: "yuyv422", "mjpeg"
  bool is_compressed = false;
  Size size;
  double frames_per_s = 0;  // the most at this size; 0: not said
};

/// The largest picture that comes at `frames_per_s` (0: 24) or more; of equal ones the quickest up to 60, and then one
/// that is not compressed. Where none is so quick: the quickest, and of equal ones the largest. Null: there are none.
const CameraMode* choose_camera_mode(std::span<const CameraMode> modes, double frames_per_s) noexcept;

/// What `device` ("/dev/video0") tells of itself through V4L2; nothing where it does not.
std::vector<CameraMode> camera_modes(const std::string& device);

}  // namespace framewire::libav
