// The viewer's drawing surface: a window, or memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/text.hpp"
#include "input/events.hpp"
#include "viewer/input.hpp"
#include "viewer/refresh_schedule.hpp"
#include "viewer/seen_refresh.hpp"

namespace framewire {

/// The user's input since the last wait_events(). viewer/keys.hpp says which key makes which.
struct SurfaceEvents {
  bool quit_requested = false;
  bool screenshot_requested = false;
  bool recording_toggle_requested = false;
  bool panel_toggle_requested = false;
  bool fullscreen_toggle_requested = false;  // the surface does that itself
  bool needs_redraw = false;                 // resized, uncovered
  SceneInputs input{};                       // for the picture; a surface without a window has none
};

/// Whether the user's input goes to a sender.
struct CaptureMode {
  bool is_capturing = false;   // gamepads are read
  bool locks_pointer = false;  // it is hidden, and only its ways count
  bool operator==(const CaptureMode&) const = default;
};

/// What the title of a window says beside its name, in this order.
enum class TitleNote { recording, input };
inline constexpr std::size_t title_note_count = 2;

/// 8-bit RGBA, opaque, top row first.
struct Image {
  Size size;
  std::vector<std::byte> pixels;
};

/// Two threads use a surface: the main thread, which makes and destroys it and takes its events, and the drawing
/// thread, which alone has its OpenGL context. A drawing thread that is blocked blocks no other function.
class Surface {
 public:
  virtual ~Surface() = default;

  // ---- The main thread ----

  /// Sleeps until there is input, wake() is called, or the deadline (monotonic, ns) passes; or less. Returns the input
  /// since the last call.
  virtual SurfaceEvents wait_events(std::int64_t deadline_ns) noexcept = 0;

  /// How the pointer looks from now on, if there is one. Cheap if that is as before.
  virtual void set_pointer(PointerShape /*shape*/) noexcept {}

  /// From now on `listener` gets all that the user does, in wait_events(), with positions in pixels of the surface; and
  /// FocusInput(false) when keys go elsewhere. Where it returns true, SurfaceEvents has nothing of it. Empty: nobody.
  using InputListener = std::function<bool(const InputEvent& event)>;
  virtual void listen_to_input(const InputListener& /*listener*/) {}
  /// Cheap if that is as before.
  virtual void set_capture(CaptureMode /*mode*/) noexcept {}
  /// Stands behind the title, with the other notes; empty: nothing.
  virtual void set_title_note(TitleNote /*about*/, const std::string& /*text*/) noexcept {}

  // ---- The drawing thread ----

  /// Makes the OpenGL context the calling thread's, until detach(). Throws Error.
  virtual void attach() = 0;
  virtual void detach() noexcept = 0;

  /// Begins drawing the whole surface. Returns the size that the picture is to have: the user may change size() at any
  /// time, and a window that is minimised meanwhile has none.
  virtual Size begin() noexcept = 0;

  /// When the surface is refreshed the next time, as far as that is known. `now_ns` is the time now (monotonic).
  virtual std::optional<Refresh> next_refresh(std::int64_t /*now_ns*/) noexcept { return std::nullopt; }

  /// Whether a picture is seen at the next refresh, not at once.
  [[nodiscard]] virtual bool is_synchronised() const noexcept = 0;

  /// Whether what was drawn and presented is still there after the next begin().
  [[nodiscard]] virtual bool keeps_content() const noexcept { return false; }

  /// When a picture was ready to be presented, and when that was done (monotonic, ns), and what is known of the screen.
  struct Presented {
    std::int64_t drawn_ns = 0;
    std::int64_t shown_ns = 0;
    std::optional<SeenRefresh> refresh{};  // with which it is seen, as far as that is known
    std::uint64_t picture = 0;             // its number: take_refresh() may know more later; 0: it will not
  };
  /// Presents the drawing since begin(). Waits, with a deadline, until the GPU has finished, so that at most one
  /// picture is queued; but a window system may block the call in between, for ever. Returns nothing if the GPU is
  /// lost.
  virtual std::optional<Presented> present() noexcept = 0;

  /// With which refresh an earlier picture was seen, once that is known, each once. Nothing: no more are known now.
  virtual std::optional<PictureRefresh> take_refresh() noexcept { return std::nullopt; }

  /// Captures the surface's content. Calls `draw` if the content must be redrawn for that, in this size. Throws Error.
  virtual Image capture(const std::function<void(Size size)>& draw) = 0;

  // ---- Any thread ----

  /// Ends one wait_events().
  virtual void wake() noexcept = 0;

  /// Size in pixels. A side is 0 while there is nothing to draw on (a minimised window). Cheap; wait_events() updates
  /// it.
  [[nodiscard]] virtual Size size() const noexcept = 0;

  /// Whether the surface is invisible (a minimised window). Cheap; wait_events() updates it.
  [[nodiscard]] virtual bool is_hidden() const noexcept { return false; }

  /// Whether a user may see it. Only then is animation worthwhile while no frames come.
  [[nodiscard]] virtual bool may_be_visible() const noexcept = 0;

  /// "window 1280x720", "headless 960x540".
  [[nodiscard]] virtual std::string describe() const = 0;
};

}  // namespace framewire
