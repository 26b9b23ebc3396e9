#include "viewer/window.hpp"

#define GLFW_INCLUDE_NONE
#include <GLFW/glfw3.h>

#include <algorithm>
#include <cstdlib>
#include <span>
#include <utility>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/text.hpp"
#include "gl/fence.hpp"
#include "gl/process_limits.hpp"
#include "viewer/headless.hpp"
#include "viewer/keys.hpp"

namespace framewire {

namespace {

/// A covered window, or one on a sleeping screen, may never be presented. After this time drawing goes on.
constexpr std::int64_t swap_deadline_ns = 100 * ns_per_ms;

/// The longest sleep of wait_events(). A driver that waits for an answer of the X server may take an event off the
/// connection that GLFW sleeps on. wake() after each picture tells GLFW; this is for what a driver does in between.
constexpr std::int64_t longest_sleep_ns = 100 * ns_per_ms;

/// The same while a sender waits for the input.
constexpr std::int64_t longest_sleep_in_capture_ns = 10 * ns_per_ms;

/// And how often gamepads are read, if there is one.
constexpr std::int64_t gamepad_period_ns = ns_per_ms;

std::string glfw_error() {
  const char* text = nullptr;
  glfwGetError(&text);
  return text == nullptr ? "no reason given" : text;
}

std::string display_text() {
  const char* display = std::getenv("DISPLAY");
  const char* wayland = std::getenv("WAYLAND_DISPLAY");
  if (display == nullptr && wayland == nullptr) {
    return "DISPLAY is not set";
  }
  return "DISPLAY is " + quote(std::string_view(display == nullptr ? "" : display));
}

std::span<GLFWmonitor*> monitors() noexcept {
  int count = 0;
  GLFWmonitor** list = glfwGetMonitors(&count);
  return {list, static_cast<std::size_t>(count)};
}

GLFWmonitor* find_monitor(std::uint32_t number) {
  const auto all = monitors();
  if (number <= all.size()) {
    return all[number - 1];
  }
  std::string names;
  for (std::size_t i = 0; i < all.size(); ++i) {
    names += (i == 0 ? "" : ", ") + std::to_string(i + 1) + " " + glfwGetMonitorName(all[i]);
  }
  throw Error::usage("--monitor is " + std::to_string(number) + "; this display has " +
                     (names.empty() ? "none that is known by number" : names));
}

/// The wanted size, limited to the monitor.
Size fitting_size(Size wanted, GLFWmonitor* monitor) noexcept {
  int x = 0, y = 0, width = 0, height = 0;
  glfwGetMonitorWorkarea(monitor, &x, &y, &width, &height);
  if (width > 0 && height > 0) {
    wanted.width = std::min(wanted.width, static_cast<std::uint32_t>(width));
    wanted.height = std::min(wanted.height, static_cast<std::uint32_t>(height));
  }
  return wanted;
}

/// The letter in the user's keyboard layout. GLFW's key codes are positions on a US keyboard.
char letter_of(int key, int scancode) noexcept {
  if (key == GLFW_KEY_ESCAPE) {
    return 'q';
  }
  const char* text = glfwGetKeyName(key, scancode);
  return text == nullptr ? '\0' : text[0];
}

/// A key without a letter.
std::optional<SceneKey> special_scene_key(int key) noexcept {
  switch (key) {
    case GLFW_KEY_TAB:
      return SceneKey::select;
    case GLFW_KEY_LEFT:
      return SceneKey::left;
    case GLFW_KEY_RIGHT:
      return SceneKey::right;
    case GLFW_KEY_UP:
      return SceneKey::up;
    case GLFW_KEY_DOWN:
      return SceneKey::down;
    case GLFW_KEY_PAGE_UP:
      return SceneKey::to_front;
    case GLFW_KEY_PAGE_DOWN:
      return SceneKey::to_back;
    case GLFW_KEY_0:  // needs Shift on some keyboards, which name it otherwise
    case GLFW_KEY_KP_0:
      return SceneKey::reset;
    default:
      return std::nullopt;
  }
}

/// Whether a key that is held down repeats what it does.
bool repeats(std::optional<SceneKey> key) noexcept {
  return key == SceneKey::left || key == SceneKey::right || key == SceneKey::up || key == SceneKey::down;
}

/// GLFW 3.3 has no pointers for corners.
int glfw_cursor_for(PointerShape shape) noexcept {
  switch (shape) {
    case PointerShape::hand:
      return GLFW_HAND_CURSOR;
    case PointerShape::resize_x:
      return GLFW_HRESIZE_CURSOR;
    case PointerShape::resize_y:
      return GLFW_VRESIZE_CURSOR;
#ifdef GLFW_RESIZE_NWSE_CURSOR
    case PointerShape::resize_falling:
      return GLFW_RESIZE_NWSE_CURSOR;
    case PointerShape::resize_rising:
      return GLFW_RESIZE_NESW_CURSOR;
#else
    case PointerShape::resize_falling:
    case PointerShape::resize_rising:
      return GLFW_CROSSHAIR_CURSOR;
#endif
    case PointerShape::usual:
    case PointerShape::arrow:
      break;
  }
  return GLFW_ARROW_CURSOR;
}

void hint_context() noexcept {
  glfwWindowHint(GLFW_CLIENT_API, GLFW_OPENGL_API);
  glfwWindowHint(GLFW_CONTEXT_VERSION_MAJOR, 4);
  glfwWindowHint(GLFW_CONTEXT_VERSION_MINOR, 5);
  glfwWindowHint(GLFW_OPENGL_PROFILE, GLFW_OPENGL_CORE_PROFILE);
  glfwWindowHint(GLFW_OPENGL_FORWARD_COMPAT, GLFW_TRUE);
  glfwWindowHint(GLFW_DEPTH_BITS, 0);
  glfwWindowHint(GLFW_STENCIL_BITS, 0);
  glfwWindowHint(GLFW_AUTO_ICONIFY, GLFW_FALSE);  // keeps fullscreen while the user works on another monitor
  glfwWindowHintString(GLFW_X11_CLASS_NAME, "framewire");
  glfwWindowHintString(GLFW_X11_INSTANCE_NAME, "framewire");
}

}  // namespace

GlfwLibrary::GlfwLibrary() {
  require_room_for_opengl();
  if (glfwInit() != GLFW_TRUE) {
    throw Error::failed("no display to open a window on (" + display_text() + "; " + glfw_error() +
                        "); add --headless to draw without one");
  }
}

GlfwLibrary::~GlfwLibrary() {
  glfwTerminate();
}

Window::Window(const WindowOptions& options)
    : wants_vsync_(options.wants_vsync), awaits_server_(options.awaits_server) {
  if (options.monitor) {
    chosen_monitor_ = find_monitor(*options.monitor);
  }
  create(options);
  connect_callbacks();
  glfwMakeContextCurrent(window_);
  try {
    load_gl(glfwGetProcAddress);
  } catch (...) {
    glfwDestroyWindow(window_);
    throw;
  }
  glfwMakeContextCurrent(nullptr);
  if (wants_vsync_ || awaits_server_) {
    refreshes_ = XPresent::open(window_);
  }
  read_sizes();
  if (options.is_fullscreen) {
    set_fullscreen(true);
  }
}

void Window::create(const WindowOptions& options) {
  hint_context();
  GLFWmonitor* monitor = chosen_monitor_ != nullptr ? chosen_monitor_ : glfwGetPrimaryMonitor();
  const Size size = monitor != nullptr ? fitting_size(options.size, monitor) : options.size;
  glfwWindowHint(GLFW_VISIBLE, GLFW_FALSE);  // until it is positioned
  const auto open = [size] {
    return glfwCreateWindow(static_cast<int>(size.width), static_cast<int>(size.height), "framewire", nullptr, nullptr);
  };
  glfwWindowHint(GLFW_CONTEXT_ROBUSTNESS, GLFW_LOSE_CONTEXT_ON_RESET);  // so that GPU resets are reported
  window_ = open();
  if (window_ == nullptr) {  // not every driver supports it
    glfwWindowHint(GLFW_CONTEXT_ROBUSTNESS, GLFW_NO_ROBUSTNESS);
    window_ = open();
  }
  if (window_ == nullptr) {
    throw Error::failed("no window with OpenGL 4.5 on this display (" + glfw_error() +
                        "); add --headless to draw without one, or install the GPU's driver");
  }
  if (chosen_monitor_ != nullptr) {
    int x = 0, y = 0, width = 0, height = 0;
    glfwGetMonitorWorkarea(chosen_monitor_, &x, &y, &width, &height);
    glfwSetWindowPos(window_, x + (width - static_cast<int>(size.width)) / 2,
                     y + (height - static_cast<int>(size.height)) / 2);
  }
  glfwShowWindow(window_);
}

Window::~Window() {
  screensaver_.set(false);
  glfwDestroyWindow(window_);
}

void Window::connect_callbacks() noexcept {
  glfwSetWindowUserPointer(window_, this);
  glfwSetKeyCallback(window_, on_key);
  glfwSetMouseButtonCallback(window_, on_button);
  glfwSetCursorPosCallback(window_, on_pointer);
  connect_input_callbacks();
  const auto redraw = [](GLFWwindow* window) {
    static_cast<Window*>(glfwGetWindowUserPointer(window))->events_.needs_redraw = true;
  };
  glfwSetWindowRefreshCallback(window_, redraw);
  // The size does not tell: on X11 a minimised window keeps its size.
  glfwSetWindowIconifyCallback(window_, [](GLFWwindow* window, int is_iconified) {
    Window& self = *static_cast<Window*>(glfwGetWindowUserPointer(window));
    self.is_iconified_ = is_iconified == GLFW_TRUE;
    self.events_.needs_redraw = true;
  });
  glfwSetFramebufferSizeCallback(window_, [](GLFWwindow* window, int width, int height) {
    Window& self = *static_cast<Window*>(glfwGetWindowUserPointer(window));
    self.keep_size(width, height);
    self.events_.needs_redraw = true;
  });
  glfwSetWindowSizeCallback(window_, [](GLFWwindow* window, int width, int height) {
    Window& self = *static_cast<Window*>(glfwGetWindowUserPointer(window));
    self.counted_width_ = width;
    self.counted_height_ = height;
  });
}

void Window::on_key(GLFWwindow* window, int key, int scancode, int action, int modifiers) {
  Window& self = *static_cast<Window*>(glfwGetWindowUserPointer(window));
  if (self.offer_key(key, scancode, action, modifiers)) {
    return;
  }
  if (action == GLFW_RELEASE || (modifiers & (GLFW_MOD_CONTROL | GLFW_MOD_ALT | GLFW_MOD_SUPER)) != 0) {
    return;
  }
  const char letter = letter_of(key, scancode);
  const auto special = special_scene_key(key);
  const auto scene_key = special ? special : scene_key_of(letter);
  if (scene_key && (action == GLFW_PRESS || repeats(scene_key))) {
    self.add_input({.kind = SceneInput::Kind::key, .key = *scene_key, .has_shift = (modifiers & GLFW_MOD_SHIFT) != 0});
  } else if (action == GLFW_PRESS) {
    press_key(letter, self.events_);
  }
}

void Window::on_button(GLFWwindow* window, int button, int action, int modifiers) {
  Window& self = *static_cast<Window*>(glfwGetWindowUserPointer(window));
  if (self.offer_button(button, action, modifiers)) {
    return;
  }
  if (button == GLFW_MOUSE_BUTTON_LEFT || button == GLFW_MOUSE_BUTTON_RIGHT) {
    self.add_input({.kind = action == GLFW_PRESS ? SceneInput::Kind::press : SceneInput::Kind::release,
                    .button = button == GLFW_MOUSE_BUTTON_LEFT ? PointerButton::left : PointerButton::right,
                    .has_shift = (modifiers & GLFW_MOD_SHIFT) != 0});
  }
}

void Window::on_pointer(GLFWwindow* window, double x, double y) {
  const auto is_down = [window](int key) { return glfwGetKey(window, key) == GLFW_PRESS; };
  Window& self = *static_cast<Window*>(glfwGetWindowUserPointer(window));
  if (self.offer_pointer(x, y)) {
    return;
  }
  self.add_input(
      {.kind = SceneInput::Kind::move, .has_shift = is_down(GLFW_KEY_LEFT_SHIFT) || is_down(GLFW_KEY_RIGHT_SHIFT)});
}

/// GLFW counts in coordinates of the screen, which are not always pixels.
Window::Pixels Window::pixels(double x, double y) const noexcept {
  const Size now = size();
  return {counted_width_ > 0 ? x * now.width / counted_width_ : 0,
          counted_height_ > 0 ? y * now.height / counted_height_ : 0};
}

/// Adds where the pointer was then: glfwGetCursorPos() would say where it is by now.
void Window::add_input(SceneInput event) noexcept {
  const Pixels at = pixels(pointer_x_, pointer_y_);
  event.x = at.x;
  event.y = at.y;
  const auto is_down = [this](int button) { return glfwGetMouseButton(window_, button) == GLFW_PRESS; };
  event.is_left_down = is_down(GLFW_MOUSE_BUTTON_LEFT);
  event.is_right_down = is_down(GLFW_MOUSE_BUTTON_RIGHT);
  events_.input.add(event);
}

void Window::set_pointer(PointerShape shape) noexcept {
  if (shape == std::exchange(pointer_, shape)) {
    return;
  }
  const auto index = static_cast<std::size_t>(shape);
  const int cursor = glfw_cursor_for(shape);
  if (cursors_.at(index) == nullptr && cursor != GLFW_ARROW_CURSOR) {
    cursors_.at(index) = glfwCreateStandardCursor(cursor);
  }
  glfwSetCursor(window_, cursors_.at(index));
  show_pointer();
}

void Window::show_pointer() noexcept {
  const bool is_hidden = is_fullscreen_ && pointer_ == PointerShape::usual;
  const int unlocked = is_hidden ? GLFW_CURSOR_HIDDEN : GLFW_CURSOR_NORMAL;
  glfwSetInputMode(window_, GLFW_CURSOR, capture_.locks_pointer ? GLFW_CURSOR_DISABLED : unlocked);
}

Window::Place Window::place() const noexcept {
  Place at{};
  glfwGetWindowPos(window_, &at.x, &at.y);
  glfwGetWindowSize(window_, &at.width, &at.height);
  return at;
}

/// The monitor that most of the window is on.
GLFWmonitor* Window::monitor_here() const noexcept {
  const Place at = place();
  GLFWmonitor* best = glfwGetPrimaryMonitor();
  int best_overlap = 0;
  for (GLFWmonitor* monitor : monitors()) {
    const GLFWvidmode* mode = glfwGetVideoMode(monitor);
    if (mode == nullptr) {  // it may just have been unplugged
      continue;
    }
    int x = 0, y = 0;
    glfwGetMonitorPos(monitor, &x, &y);
    const int wide = std::min(at.x + at.width, x + mode->width) - std::max(at.x, x);
    const int high = std::min(at.y + at.height, y + mode->height) - std::max(at.y, y);
    const int overlap = std::max(wide, 0) * std::max(high, 0);
    if (overlap > best_overlap) {
      best_overlap = overlap;
      best = monitor;
    }
  }
  return best;
}

void Window::set_fullscreen(bool on) noexcept {
  if (on) {
    GLFWmonitor* monitor = chosen_monitor_ != nullptr ? chosen_monitor_ : monitor_here();
    const GLFWvidmode* mode = monitor != nullptr ? glfwGetVideoMode(monitor) : nullptr;
    if (mode == nullptr) {
      return;
    }
    chosen_monitor_ = nullptr;  // --monitor applies only at start; afterwards the window's position decides
    windowed_place_ = place();
    glfwSetWindowMonitor(window_, monitor, 0, 0, mode->width, mode->height, mode->refreshRate);
  } else {
    const Place& at = windowed_place_;
    glfwSetWindowMonitor(window_, nullptr, at.x, at.y, at.width, at.height, GLFW_DONT_CARE);
  }
  screensaver_.set(on);
  is_fullscreen_ = on;
  show_pointer();
  events_.needs_redraw = true;
}

/// Asks the X server, which must not happen once the viewer runs: a server that hangs answers no call.
void Window::read_sizes() noexcept {
  int width = 0, height = 0;
  glfwGetFramebufferSize(window_, &width, &height);
  keep_size(width, height);
  glfwGetWindowSize(window_, &counted_width_, &counted_height_);
}

void Window::keep_size(int width, int height) noexcept {
  size_ = static_cast<std::uint64_t>(std::max(width, 0)) << 32U | static_cast<std::uint32_t>(std::max(height, 0));
}

Size Window::size() const noexcept {
  const std::uint64_t size = size_;
  return {static_cast<std::uint32_t>(size >> 32U), static_cast<std::uint32_t>(size)};
}

void Window::attach() {
  glfwMakeContextCurrent(window_);
  if (glfwGetCurrentContext() != window_) {
    throw Error::failed("the window's OpenGL context cannot be used by the drawing thread (" + glfw_error() + ")");
  }
  glfwSwapInterval(wants_vsync_ ? 1 : 0);
  is_copied_ = is_software_renderer();
  is_synchronised_ = wants_vsync_ && !is_copied_;
}

void Window::detach() noexcept {
  glfwMakeContextCurrent(nullptr);
}

Size Window::begin() noexcept {
  const Size now = size();
  glBindFramebuffer(GL_FRAMEBUFFER, 0);
  glViewport(0, 0, static_cast<GLsizei>(now.width), static_cast<GLsizei>(now.height));
  return now;
}

std::optional<Refresh> Window::next_refresh(std::int64_t now_ns) noexcept {
  return refreshes_ && wants_vsync_ ? refreshes_->next_after(now_ns) : std::nullopt;
}

/// The first wait tells what the drawing took; the second ends when the picture has left for the screen.
std::optional<Surface::Presented> Window::present() noexcept {
  const GpuWait drawn = GlFence::insert().wait(monotonic_ns() + swap_deadline_ns);
  const std::int64_t drawn_ns = monotonic_ns();
  const std::uint64_t picture = refreshes_ ? refreshes_->swapped() : 0;
  glfwSwapBuffers(window_);
  wake();
  const GpuWait shown = GlFence::insert().wait(monotonic_ns() + swap_deadline_ns);
  if (refreshes_) {
    if (awaits_server_) {
      refreshes_->await_answer();
    }
    refreshes_->take_events(monotonic_ns());
  }
  if (drawn == GpuWait::failed || shown == GpuWait::failed) {
    return std::nullopt;
  }
  const std::int64_t shown_ns = monotonic_ns();
  const bool is_seen_next = refreshes_ && awaits_server_ && is_copied_;
  return Presented{.drawn_ns = drawn_ns,
                   .shown_ns = shown_ns,
                   .refresh = is_seen_next ? refreshes_->first_after(shown_ns) : std::nullopt,
                   .picture = picture};
}

/// Redraws offscreen: the window's own pixels are undefined after a swap and where another window covers it.
Image Window::capture(const std::function<void(Size)>& draw) {
  const OffscreenTarget target(size());
  target.bind();
  draw(target.size());
  return read_image(target);
}

SurfaceEvents Window::wait_events(std::int64_t deadline_ns) noexcept {
  const std::int64_t longest_ns = !capture_.is_capturing ? longest_sleep_ns
                                  : known_gamepads_ != 0 ? gamepad_period_ns
                                                         : longest_sleep_in_capture_ns;
  const std::int64_t left_ns = std::min(deadline_ns - monotonic_ns(), longest_ns);
  if (left_ns > 0) {
    glfwWaitEventsTimeout(static_cast<double>(left_ns) / 1e9);
  } else {
    glfwPollEvents();
  }
  offer_gamepads();
  events_.quit_requested = events_.quit_requested || glfwWindowShouldClose(window_) == GLFW_TRUE;
  if (events_.fullscreen_toggle_requested) {
    set_fullscreen(!is_fullscreen_);
  }
  return std::exchange(events_, {});
}

void Window::wake() noexcept {
  glfwPostEmptyEvent();
}

std::string Window::describe() const {
  const Size now = size();
  return std::string(is_fullscreen_ ? "fullscreen " : "window ") + std::to_string(now.width) + "x" +
         std::to_string(now.height);
}

/// Sanitised, because window managers may pass the title on, even to terminals.
void Window::set_title(const std::string& title) noexcept {
  constexpr std::size_t longest = 200;
  title_ = printable(title, longest);
  glfwSetWindowTitle(window_, title_.c_str());
}

}  // namespace framewire
