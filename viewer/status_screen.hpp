// What is shown without frames: while waiting for a sender, and after losing it.
#pragma once

#include <cstdint>
#include <string>

#include "base/text.hpp"
#include "viewer/fit.hpp"
#include "viewer/overlay.hpp"

namespace framewire {

struct StatusScreen {
  std::string headline;  // "waiting for box:5290"
  std::string detail;    // the reason; may be empty
  bool is_over = false;  // nothing is waited for
};

/// Where it is shown.
struct StatusPlace {
  PictureRectangle box;         // of the surface
  bool has_background = false;  // clear_for_waiting_picture() has drawn it
  int notes_below = 0;          // draw_note() has drawn so many in this place
};

/// Fills the bound framebuffer with the background of the waiting picture, using only GL.
void clear_for_waiting_picture(Size surface) noexcept;

/// Draws on that background: the name, a slowly pulsing wire, and the screen. Text that is too large for a small box is
/// cut off. Call it between Overlay::begin() and finish().
void draw_waiting_picture(const Overlay& overlay, const StatusPlace& place, const StatusScreen& screen,
                          std::int64_t now_ns);

/// Dims the last frame and draws a banner over it. Call it between Overlay::begin() and finish().
void draw_lost_banner(const Overlay& overlay, const StatusPlace& place, const StatusScreen& screen,
                      std::int64_t now_ns);

/// Draws one line at the lower left of the place, which others show pictures in. Call it between Overlay::begin() and
/// finish().
void draw_note(const Overlay& overlay, const StatusPlace& place, const StatusScreen& screen);

}  // namespace framewire
