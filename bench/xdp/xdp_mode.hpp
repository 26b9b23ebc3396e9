// Where the BPF program of an AF_XDP row runs.
#pragma once

#include <string_view>

namespace framewire {

/// On the driver's own buffers, or on the kernel's, which every driver can.
enum class XdpMode { generic, native };

[[nodiscard]] constexpr std::string_view name(XdpMode mode) noexcept {
  return mode == XdpMode::native ? "native" : "generic";
}

}  // namespace framewire
