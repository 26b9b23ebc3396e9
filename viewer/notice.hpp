// The picture that stands in for frames: nobody there yet, or no longer.
#pragma once

#include <cstdint>
#include <string>

#include "base/text.hpp"
#include "viewer/overlay.hpp"

namespace framewire {

struct Notice {
  std::string headline;  // "waiting for box:5290"
  std::string detail;    // why; may be empty
};

/// Fills the bound framebuffer with the background of the waiting picture, by GL alone.
void clear_for_waiting_picture(Size surface) noexcept;

/// On that background: the name, a wire that pulses slowly, and what it waits for. Between Overlay::begin() and
/// finish().
void draw_waiting_picture(const Overlay& overlay, Size surface, const Notice& notice, std::int64_t now_ns);

/// Over the last frame, which it dims: a banner. Between Overlay::begin() and finish().
void draw_lost_banner(const Overlay& overlay, Size surface, const Notice& notice, std::int64_t now_ns);

}  // namespace framewire
