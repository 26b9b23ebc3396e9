// What the user does, as it goes to a sender.
#include "viewer/window.hpp"

#define GLFW_INCLUDE_NONE
#include <GLFW/glfw3.h>

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "base/clock.hpp"
#include "viewer/key_codes.hpp"

namespace framewire {

namespace {

std::uint8_t input_modifiers(int modifiers) noexcept {
  constexpr std::array bits = {
      std::pair(GLFW_MOD_CONTROL, input_control),
      std::pair(GLFW_MOD_SHIFT, input_shift),
      std::pair(GLFW_MOD_ALT, input_alt),
      std::pair(GLFW_MOD_SUPER, input_super),
      std::pair(GLFW_MOD_CAPS_LOCK, input_caps_lock),
      std::pair(GLFW_MOD_NUM_LOCK, input_num_lock),
  };
  unsigned int made = 0;
  for (const auto& [glfw, bit] : bits) {
    made |= (modifiers & glfw) != 0 ? unsigned{bit} : 0U;
  }
  return static_cast<std::uint8_t>(made);
}

/// For events of which GLFW does not say it. It never says which locks are on then.
std::uint8_t held_modifiers(GLFWwindow* window) noexcept {
  const auto is_down = [window](int left, int right) {
    return glfwGetKey(window, left) == GLFW_PRESS || glfwGetKey(window, right) == GLFW_PRESS;
  };
  return input_modifiers((is_down(GLFW_KEY_LEFT_CONTROL, GLFW_KEY_RIGHT_CONTROL) ? GLFW_MOD_CONTROL : 0) |
                         (is_down(GLFW_KEY_LEFT_SHIFT, GLFW_KEY_RIGHT_SHIFT) ? GLFW_MOD_SHIFT : 0) |
                         (is_down(GLFW_KEY_LEFT_ALT, GLFW_KEY_RIGHT_ALT) ? GLFW_MOD_ALT : 0) |
                         (is_down(GLFW_KEY_LEFT_SUPER, GLFW_KEY_RIGHT_SUPER) ? GLFW_MOD_SUPER : 0));
}

std::optional<InputButton> button_of(int button) noexcept {
  switch (button) {
    case GLFW_MOUSE_BUTTON_LEFT:
      return InputButton::left;
    case GLFW_MOUSE_BUTTON_MIDDLE:
      return InputButton::middle;
    case GLFW_MOUSE_BUTTON_RIGHT:
      return InputButton::right;
    case GLFW_MOUSE_BUTTON_4:
      return InputButton::back;
    case GLFW_MOUSE_BUTTON_5:
      return InputButton::forward;
    default:
      return std::nullopt;
  }
}

/// Empty for controls, and for what is no character.
std::string utf8(unsigned int character) {
  const auto last_bits = [character](unsigned int shift) {
    return static_cast<char>(0x80U | (character >> shift & 0x3FU));
  };
  const bool is_control = character < 0x20 || (character >= 0x7F && character < 0xA0);
  const bool is_surrogate = character >= 0xD800 && character < 0xE000;
  if (is_control || is_surrogate || character > 0x10FFFF) {
    return "";
  }
  if (character < 0x80) {
    return {static_cast<char>(character)};
  }
  if (character < 0x800) {
    return {static_cast<char>(0xC0U | character >> 6U), last_bits(0)};
  }
  if (character < 0x10000) {
    return {static_cast<char>(0xE0U | character >> 12U), last_bits(6), last_bits(0)};
  }
  return {static_cast<char>(0xF0U | character >> 18U), last_bits(12), last_bits(6), last_bits(0)};
}

Window& window_of(GLFWwindow* window) noexcept {
  return *static_cast<Window*>(glfwGetWindowUserPointer(window));
}

}  // namespace

void Window::listen_to_input(const InputListener& listener) {
  listener_ = listener;
  glfwSetInputMode(window_, GLFW_LOCK_KEY_MODS, listener_ ? GLFW_TRUE : GLFW_FALSE);
}

void Window::connect_input_callbacks() noexcept {
  glfwSetCharCallback(window_,
                      [](GLFWwindow* window, unsigned int character) { window_of(window).offer_text(character); });
  glfwSetScrollCallback(window_,
                        [](GLFWwindow* window, double dx, double dy) { window_of(window).offer_wheel(dx, dy); });
  glfwSetWindowFocusCallback(window_, [](GLFWwindow* window, int is_focused) {
    if (is_focused == GLFW_FALSE) {
      window_of(window).offer({.time_ns = monotonic_ns(), .what = FocusInput{.is_focused = false}});
    }
  });
}

void Window::set_capture(CaptureMode mode) noexcept {
  if (mode == capture_) {
    return;
  }
  const bool was_locked = std::exchange(capture_, mode).locks_pointer;
  known_gamepads_ = mode.is_capturing ? known_gamepads_ : 0;
  if (mode.locks_pointer != was_locked) {
    show_pointer();
    if (glfwRawMouseMotionSupported() == GLFW_TRUE) {
      glfwSetInputMode(window_, GLFW_RAW_MOUSE_MOTION, mode.locks_pointer ? GLFW_TRUE : GLFW_FALSE);
    }
  }
  if (mode.locks_pointer && !was_locked) {  // then GLFW does not ask the X server
    glfwGetCursorPos(window_, &locked_x_, &locked_y_);
  }
}

void Window::set_title_note(TitleNote about, const std::string& text) noexcept {
  title_notes_.at(static_cast<std::size_t>(about)) = printable(text);
  std::string title = title_;
  for (const std::string& note : title_notes_) {
    title += note.empty() ? "" : " – " + note;
  }
  glfwSetWindowTitle(window_, title.c_str());
}

// ---- Each returns whether the viewer itself is to ignore it. Each takes the time first ----

bool Window::offer(const InputEvent& event) noexcept {
  return listener_ && listener_(event);
}

bool Window::offer_key(int key, int scancode, int action, int modifiers) {
  const std::int64_t time_ns = monotonic_ns();
  if (!listener_) {
    return false;
  }
  const KeyCode* const code = find_key_code(key);
  std::uint32_t keysym = code != nullptr ? code->keysym : 0;
  if (keysym == 0) {
    const char* const name = glfwGetKeyName(key, scancode);
    keysym = name != nullptr ? keysym_of(name) : 0;
  }
  return offer({.time_ns = time_ns,
                .what = KeyInput{.usage = code != nullptr ? code->usage : std::uint16_t{0},
                                 .keysym = keysym,
                                 .is_pressed = action != GLFW_RELEASE,
                                 .is_repeat = action == GLFW_REPEAT,
                                 .modifiers = input_modifiers(modifiers)}});
}

void Window::offer_text(unsigned int character) {
  if (listener_) {
    offer({.time_ns = monotonic_ns(), .what = TextInput{.text = utf8(character)}});
  }
}

bool Window::offer_button(int button, int action, int modifiers) {
  const std::int64_t time_ns = monotonic_ns();
  const auto known = button_of(button);
  if (!listener_ || !known) {
    return false;
  }
  const Pixels at = pixels(pointer_x_, pointer_y_);
  return offer({.time_ns = time_ns,
                .what = ButtonInput{.button = *known,
                                    .is_pressed = action == GLFW_PRESS,
                                    .x = at.x,
                                    .y = at.y,
                                    .modifiers = input_modifiers(modifiers)}});
}

/// GLFW lets the position of a locked pointer run beyond the window.
bool Window::offer_pointer(double x, double y) {
  const std::int64_t time_ns = monotonic_ns();
  if (!capture_.locks_pointer) {
    pointer_x_ = x;
    pointer_y_ = y;
    const Pixels at = pixels(x, y);
    return listener_ && offer({.time_ns = time_ns, .what = PointerInput{.x = at.x, .y = at.y}});
  }
  const Pixels way = pixels(x - std::exchange(locked_x_, x), y - std::exchange(locked_y_, y));
  return offer({.time_ns = time_ns, .what = PointerInput{.dx = way.x, .dy = way.y, .is_locked = true}});
}

/// GLFW counts to the left on X11 and Wayland.
void Window::offer_wheel(double dx, double dy) {
  const std::int64_t time_ns = monotonic_ns();
  const Pixels at = pixels(pointer_x_, pointer_y_);
  const WheelInput wheel{.dx = -dx, .dy = dy, .x = at.x, .y = at.y, .modifiers = held_modifiers(window_)};
  if (!offer({.time_ns = time_ns, .what = wheel})) {
    add_input({.kind = SceneInput::Kind::wheel, .notches = dy});
  }
}

/// Their states, whether they have changed or not.
void Window::offer_gamepads() {
  for (int number = GLFW_JOYSTICK_1; capture_.is_capturing && number <= GLFW_JOYSTICK_LAST; ++number) {
    const std::uint32_t bit = 1U << static_cast<unsigned>(number);
    GamepadInput gamepad{.number = static_cast<std::uint8_t>(number)};
    GLFWgamepadstate state{};
    if (glfwJoystickIsGamepad(number) == GLFW_TRUE && glfwGetGamepadState(number, &state) == GLFW_TRUE) {
      known_gamepads_ |= bit;
      std::ranges::transform(state.axes, gamepad.axes.begin(),
                             [](float axis) { return std::clamp(axis, -1.0F, 1.0F); });
      for (unsigned int i = 0; i <= GLFW_GAMEPAD_BUTTON_LAST; ++i) {
        gamepad.buttons = static_cast<std::uint16_t>(gamepad.buttons | (state.buttons[i] == GLFW_PRESS ? 1U << i : 0U));
      }
      offer({.time_ns = monotonic_ns(), .what = gamepad});
    } else if ((known_gamepads_ & bit) != 0) {
      known_gamepads_ &= ~bit;
      gamepad.is_connected = false;
      offer({.time_ns = monotonic_ns(), .what = gamepad});
    }
  }
}

}  // namespace framewire
