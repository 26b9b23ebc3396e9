// The viewer's window.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "viewer/screensaver.hpp"
#include "viewer/surface.hpp"
#include "viewer/x_present.hpp"

struct GLFWcursor;
struct GLFWmonitor;
struct GLFWwindow;

namespace framewire {

struct WindowOptions {
  Size size{1280, 720};
  bool is_fullscreen = false;
  std::optional<std::uint32_t> monitor;  // 1 is the primary one
  bool wants_vsync = true;               // pictures wait for the screen's refresh
  bool awaits_server = false;            // present() ends when an X server with Present has the picture: to measure
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

/// A GLFW window with an OpenGL 4.5 core context, and with vsync unless WindowOptions says otherwise. viewer/keys.hpp
/// has its keys. Fullscreen hides the pointer, unless set_pointer() shows one, and suspends the screen saver. At most
/// one at a time.
class Window final : public Surface {
 public:
  /// Throws Error: no display, no OpenGL 4.5, no such monitor.
  explicit Window(const WindowOptions& options);
  ~Window() override;

  SurfaceEvents wait_events(std::int64_t deadline_ns) noexcept override;
  void attach() override;
  void detach() noexcept override;
  Size begin() noexcept override;
  std::optional<Refresh> next_refresh(std::int64_t now_ns) noexcept override;
  [[nodiscard]] bool is_synchronised() const noexcept override { return is_synchronised_; }
  std::optional<Presented> present() noexcept override;
  std::optional<PictureRefresh> take_refresh() noexcept override {
    return refreshes_ && !is_copied_ ? refreshes_->take_seen() : std::nullopt;
  }
  Image capture(const std::function<void(Size)>& draw) override;
  void set_pointer(PointerShape shape) noexcept override;
  void listen_to_input(const InputListener& listener) override;
  void set_capture(CaptureMode mode) noexcept override;
  void set_title_note(TitleNote about, const std::string& text) noexcept override;
  void wake() noexcept override;
  [[nodiscard]] Size size() const noexcept override;
  [[nodiscard]] bool is_hidden() const noexcept override { return is_iconified_.load(std::memory_order_relaxed); }
  [[nodiscard]] bool may_be_visible() const noexcept override { return true; }
  [[nodiscard]] std::string describe() const override;

  /// The main thread.
  void set_title(const std::string& title) noexcept;

 private:
  struct Place {
    int x, y, width, height;
  };
  static void on_key(GLFWwindow* window, int key, int scancode, int action, int modifiers);
  void create(const WindowOptions& options);
  static void on_button(GLFWwindow* window, int button, int action, int modifiers);
  static void on_pointer(GLFWwindow* window, double x, double y);
  void connect_callbacks() noexcept;
  // ---- window_input.cpp ----
  void connect_input_callbacks() noexcept;
  bool offer(const InputEvent& event) noexcept;
  bool offer_key(int key, int scancode, int action, int modifiers);
  bool offer_button(int button, int action, int modifiers);
  bool offer_pointer(double x, double y);
  void offer_text(unsigned int character);
  void offer_wheel(double dx, double dy);
  void offer_gamepads();
  // ----
  struct Pixels {
    double x, y;
  };
  [[nodiscard]] Pixels pixels(double x, double y) const noexcept;
  void add_input(SceneInput event) noexcept;
  void show_pointer() noexcept;
  void set_fullscreen(bool on) noexcept;
  void read_sizes() noexcept;
  void keep_size(int width, int height) noexcept;
  [[nodiscard]] GLFWmonitor* monitor_here() const noexcept;
  [[nodiscard]] Place place() const noexcept;

  GlfwLibrary library_;
  ScreensaverInhibitor screensaver_;
  GLFWmonitor* chosen_monitor_ = nullptr;  // set by --monitor
  GLFWwindow* window_ = nullptr;
  int counted_width_ = 0;  // of the window, as GLFW counts
  int counted_height_ = 0;
  Place windowed_place_{};  // restored when fullscreen ends
  SurfaceEvents events_;
  InputListener listener_;
  CaptureMode capture_;
  double locked_x_ = 0;  // of the locked pointer, as GLFW counts it on
  double locked_y_ = 0;
  std::uint32_t known_gamepads_ = 0;  // bit i: number i is there
  std::string title_;
  std::array<std::string, title_note_count> title_notes_{};
  PointerShape pointer_ = PointerShape::usual;
  double pointer_x_ = -1;  // as GLFW has it; outside until it was seen
  double pointer_y_ = -1;
  std::array<GLFWcursor*, pointer_shape_count> cursors_{};  // null: the window system's usual one
  const bool wants_vsync_;
  const bool awaits_server_;
  bool is_synchronised_ = false;
  bool is_copied_ = false;               // a software renderer copies pictures to the server, which has them at once
  std::unique_ptr<XPresent> refreshes_;  // null: unknown
  // For the drawing thread, which may not ask GLFW for them.
  std::atomic<std::uint64_t> size_ = 0;  // the width above the height
  std::atomic<bool> is_fullscreen_ = false;
  std::atomic<bool> is_iconified_ = false;
};

}  // namespace framewire
