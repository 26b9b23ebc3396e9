// Keys as the window has them, in the numbers that go to the sender.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace framewire {

/// One key of GLFW.
struct KeyCode {
  int glfw = 0;              // GLFW_KEY_…
  std::uint16_t usage = 0;   // USB HID Usage Tables 1.4, page 7; 0: that page has no such key
  std::uint32_t keysym = 0;  // X11's keysymdef.h; 0: the layout says what is printed on the key
};

/// Every key but GLFW_KEY_UNKNOWN.
std::span<const KeyCode> key_codes() noexcept;
/// Null if GLFW does not know the key.
const KeyCode* find_key_code(int glfw) noexcept;

/// The keysym of a character, as X11 numbers those of Latin-1 and Unicode. `name` has it in UTF-8, as glfwGetKeyName()
/// does. 0 if it is not one character, or a control.
std::uint32_t keysym_of(std::string_view name) noexcept;

}  // namespace framewire
