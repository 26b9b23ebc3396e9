// Where the BPF program of an AF_XDP row runs.
#pragma once

#include <optional>
#include <string_view>

namespace framewire {

/// On the driver's own buffers, or on the kernel's, which every driver can.
enum class XdpMode { generic, native };

[[nodiscard]] constexpr std::string_view name(XdpMode mode) noexcept {
  return mode == XdpMode::native ? "native" : "generic";
}

[[nodiscard]] constexpr std::optional<XdpMode> xdp_mode_from_name(std::string_view word) noexcept {
  for (const XdpMode mode : {XdpMode::generic, XdpMode::native}) {
    if (word == name(mode)) {
      return mode;
    }
  }
  return std::nullopt;
}

}  // namespace framewire
