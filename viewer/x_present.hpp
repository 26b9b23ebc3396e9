// The refreshes of a window under X, by the Present extension.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "viewer/refresh_schedule.hpp"
#include "viewer/swap_refreshes.hpp"

struct GLFWwindow;

namespace framewire {

/// Asks the X server when it refreshes the screen that a window is on: the time and the count of the next refresh come
/// as events (presentproto.txt, PresentNotifyMSC). Has a connection of its own, so that neither GLFW nor the driver
/// disturbs it. Made on the main thread, then used on the drawing thread; only await_answer() waits for the server
/// there.
class XPresent {
 public:
  /// Nothing if the window is not one of X, or the server lacks the extension.
  static std::unique_ptr<XPresent> open(GLFWwindow* window);
  ~XPresent();
  XPresent(const XPresent&) = delete;
  XPresent& operator=(const XPresent&) = delete;

  /// The first refresh after `now_ns`. Nothing at first, and after a time in which nobody asked: answers take until the
  /// next refresh.
  std::optional<Refresh> next_after(std::int64_t now_ns) noexcept;

  /// Waits until the server has answered: it has done then what was asked of it before, by others, too, unless it has
  /// more requests at once than it takes in turn. For measurements; may wait for ever.
  void await_answer() noexcept;

  /// The window's next picture is about to be given to the driver. Returns its number.
  std::uint64_t swapped() noexcept { return swaps_.swapped(); }
  /// With which refresh a picture was seen: of drivers whose swaps go through Present, once the server has said so.
  std::optional<PictureRefresh> take_seen() noexcept;
  /// With which refresh a picture is seen that the server has since `shown_ns`, as next_after() predicts it.
  std::optional<SeenRefresh> first_after(std::int64_t shown_ns) noexcept;

  /// Reads what the server has said. Call it after each swap: the server also tells of those, and events that nobody
  /// reads would pile up.
  void take_events(std::int64_t now_ns) noexcept;

 private:
  struct Connection;
  explicit XPresent(std::unique_ptr<Connection> connection);

  std::unique_ptr<Connection> connection_;
  RefreshModel model_;
  SwapRefreshes swaps_;
};

}  // namespace framewire
