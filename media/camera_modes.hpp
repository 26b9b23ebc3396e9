// Lists a camera's modes and chooses one. Internal to media/.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/text.hpp"

namespace framewire::libav {

/// One capture mode of a camera.
struct CameraMode {
  std::string format;  // libav's name for it: "yuyv422", "mjpeg"
  bool is_compressed = false;
  Size size;
  double frames_per_s = 0;  // the maximum at this size; 0: unknown
};

/// The largest mode with at least `frames_per_s` (0: 24). Among equal sizes: the fastest up to 60 fps, then an
/// uncompressed one. If none is fast enough: the fastest, and among equals the largest. Null: no modes.
const CameraMode* choose_camera_mode(std::span<const CameraMode> modes, double frames_per_s) noexcept;

/// The modes that `device` ("/dev/video0") lists through V4L2; empty if it lists none.
std::vector<CameraMode> camera_modes(const std::string& device);

}  // namespace framewire::libav
