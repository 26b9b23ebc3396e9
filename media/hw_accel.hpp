// Which device decodes, by the words of FFmpeg's -hwaccel.
#pragma once

#include <string>
#include <string_view>

namespace framewire {

enum class HwAccelKind {
  none,       // the processor decodes
  automatic,  // the first device that can; the processor if none can
  cuda,       // NVDEC of an NVIDIA GPU
  vaapi,      // a GPU of Intel or AMD
};

struct HwAccel {
  HwAccelKind kind = HwAccelKind::none;
  /// cuda: a GPU's UUID, which may be shortened, or its PCI address. vaapi: the path of a render node. Empty: the one
  /// that the frames' memory is of, else the first one.
  std::string device{};
  bool operator==(const HwAccel&) const = default;
};

/// "auto", "cuda", "vaapi"; for messages, and as libav names the devices.
[[nodiscard]] std::string_view name(HwAccelKind kind) noexcept;

/// How a message ends that says why a device decodes nothing: that "auto" would help; empty if it was that.
[[nodiscard]] std::string_view advice(HwAccelKind kind) noexcept;

/// The value of --hwaccel: "none", "auto", "cuda", "cuda:GPU", "vaapi" or "vaapi:DEVICE". Throws Error (usage).
[[nodiscard]] HwAccel parse_hw_accel(const std::string& text);

}  // namespace framewire
