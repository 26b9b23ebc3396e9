// What the viewer draws on: a window, or memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/text.hpp"

namespace framewire {

/// What the person at the window asked for since the last look.
struct SurfaceEvents {
  bool quits = false;
  bool takes_screenshot = false;
  bool toggles_panel = false;
  bool needs_redraw = false;  // resized, uncovered
};

/// 8-bit RGBA, opaque, top row first.
struct Picture {
  Size size;
  std::vector<std::byte> pixels;
};

/// Owns the GL context, which is current in the thread that made it; everything belongs to that thread.
class Surface {
 public:
  virtual ~Surface() = default;

  /// Pixels that are drawn; a side of 0 while there is nothing to draw on (a minimised window).
  [[nodiscard]] virtual Size size() const noexcept = 0;

  /// From here on the surface is drawn on, all of it.
  virtual void begin() noexcept = 0;

  /// Presents what was drawn since begin() and waits, with a deadline, until the GPU has done it: at most one picture
  /// is ever queued. Returns when that was (monotonic, ns); nothing where the GPU will never do it: it is lost.
  virtual std::optional<std::int64_t> present() noexcept = 0;

  /// What the surface shows. `draw` draws it again where that is needed to get at it. Throws Error.
  virtual Picture capture(const std::function<void()>& draw) = 0;

  /// Looks for input, without waiting.
  virtual SurfaceEvents poll_events() noexcept = 0;

  /// Whether nobody can see it now, whatever is drawn: a minimised window. Cheap; poll_events() keeps it up to date.
  [[nodiscard]] virtual bool is_hidden() const noexcept { return false; }

  /// Whether somebody looks at it: only then is something worth moving while no frames come.
  [[nodiscard]] virtual bool is_watched() const noexcept = 0;

  /// How long poll_events() may stay away.
  [[nodiscard]] virtual std::int64_t poll_interval_ns() const noexcept = 0;

  /// "window 1280x720", "headless 960x540".
  [[nodiscard]] virtual std::string describe() const = 0;
};

}  // namespace framewire
