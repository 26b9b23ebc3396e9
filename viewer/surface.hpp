// The viewer's drawing surface: a window, or memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/text.hpp"

namespace framewire {

/// The user's input since the last poll_events(). viewer/keys.hpp says which key makes which.
struct SurfaceEvents {
  bool quit_requested = false;
  bool screenshot_requested = false;
  bool panel_toggle_requested = false;
  bool fullscreen_toggle_requested = false;  // the surface does that itself
  bool needs_redraw = false;                 // resized, uncovered
};

/// 8-bit RGBA, opaque, top row first.
struct Image {
  Size size;
  std::vector<std::byte> pixels;
};

/// Owns the GL context, which is current in the thread that constructed it. Used only on that thread.
class Surface {
 public:
  virtual ~Surface() = default;

  /// Size in pixels. A side is 0 while there is nothing to draw on (a minimised window).
  [[nodiscard]] virtual Size size() const noexcept = 0;

  /// Begins drawing the whole surface.
  virtual void begin() noexcept = 0;

  /// Presents the drawing since begin(). Waits, with a deadline, until the GPU has finished, so that at most one
  /// picture is queued. Returns the time of the finish (monotonic, ns), or nothing if the GPU is lost.
  virtual std::optional<std::int64_t> present() noexcept = 0;

  /// Captures the surface's content. Calls `draw` if the content must be redrawn for that. Throws Error.
  virtual Image capture(const std::function<void()>& draw) = 0;

  /// Polls input without waiting.
  virtual SurfaceEvents poll_events() noexcept = 0;

  /// Whether the surface is invisible (a minimised window). Cheap; poll_events() updates it.
  [[nodiscard]] virtual bool is_hidden() const noexcept { return false; }

  /// Whether a user may see it. Only then is animation worthwhile while no frames come.
  [[nodiscard]] virtual bool may_be_visible() const noexcept = 0;

  /// The longest time between two poll_events() calls.
  [[nodiscard]] virtual std::int64_t poll_interval_ns() const noexcept = 0;

  /// "window 1280x720", "headless 960x540".
  [[nodiscard]] virtual std::string describe() const = 0;
};

}  // namespace framewire
