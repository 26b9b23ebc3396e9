// The viewer's window.
#pragma once

#include <optional>

#include "viewer/screensaver.hpp"
#include "viewer/surface.hpp"

struct GLFWmonitor;
struct GLFWwindow;

namespace framewire {

struct WindowOptions {
  Size size{1280, 720};
  bool is_fullscreen = false;
  std::optional<std::uint32_t> monitor;  // 1 is the primary one
};

/// Initialises GLFW, and terminates it after the window.
class GlfwLibrary {
 public:
  /// Throws Error if there is no display.
  GlfwLibrary();
  GlfwLibrary(const GlfwLibrary&) = delete;
  GlfwLibrary& operator=(const GlfwLibrary&) = delete;
  ~GlfwLibrary();
};

/// A GLFW window with an OpenGL 4.5 core context and vsync. viewer/keys.hpp has its keys.
/// Fullscreen hides the cursor and suspends the screen saver. At most one at a time; used on the main thread.
class Window final : public Surface {
 public:
  /// Throws Error: no display, no OpenGL 4.5, no such monitor.
  explicit Window(const WindowOptions& options);
  ~Window() override;

  [[nodiscard]] Size size() const noexcept override;
  void begin() noexcept override;
  std::optional<std::int64_t> present() noexcept override;
  Image capture(const std::function<void()>& draw) override;
  SurfaceEvents poll_events() noexcept override;
  [[nodiscard]] bool is_hidden() const noexcept override { return is_iconified_; }
  [[nodiscard]] bool may_be_visible() const noexcept override { return true; }
  [[nodiscard]] std::int64_t poll_interval_ns() const noexcept override;
  [[nodiscard]] std::string describe() const override;

  void set_title(const std::string& title) noexcept;

 private:
  struct Place {
    int x, y, width, height;
  };
  static void on_key(GLFWwindow* window, int key, int scancode, int action, int modifiers);
  void create(const WindowOptions& options);
  void connect_callbacks() noexcept;
  void set_fullscreen(bool on) noexcept;
  [[nodiscard]] GLFWmonitor* monitor_here() const noexcept;
  [[nodiscard]] Place place() const noexcept;

  GlfwLibrary library_;
  ScreensaverInhibitor screensaver_;
  GLFWmonitor* chosen_monitor_ = nullptr;  // set by --monitor
  GLFWwindow* window_ = nullptr;
  Place windowed_place_{};  // restored when fullscreen ends
  bool is_fullscreen_ = false;
  bool is_iconified_ = false;
  SurfaceEvents events_;
};

}  // namespace framewire
