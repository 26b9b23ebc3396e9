#include "gl/scene_keyboard.hpp"

#include <algorithm>
#include <array>
#include <variant>

namespace framewire {

namespace {

enum Row : std::size_t { is_down, was_pressed, is_toggled };

constexpr std::uint8_t on = 255;

std::uint8_t& texel(KeyboardTexels& texels, Row row, std::uint8_t column) noexcept {
  return texels[row * keyboard_columns + column];
}

/// Keys whose numbers are not in the order of the usages, from usage 40 (Enter) to 57 (Caps Lock).
constexpr std::array<std::uint8_t, 18> after_digits = {
    13,  27,  8,   9,   32,   // Enter, Escape, Backspace, Tab, Space
    189, 187, 219, 221, 220,  // - = [ ] and the backslash
    220, 186, 222, 192, 188,  // the backslash where it is elsewhere, ; ' ` ,
    190, 191, 20};            // . / Caps Lock

/// From usage 70 (Print Screen) to 88 (Enter of the keypad).
constexpr std::array<std::uint8_t, 19> after_functions = {
    44,  145, 19,  45,  36,  33,
    46,  35,  34,                  // Print, Scroll Lock, Pause, Insert, Home, Page Up, Delete, End, Page Down
    39,  37,  40,  38,             // right, left, down, up
    144, 111, 106, 109, 107, 13};  // Num Lock, / * - + and Enter of the keypad

/// From usage 224 (left Control) to 231 (right Super).
constexpr std::array<std::uint8_t, 8> modifiers = {17, 16, 18, 91, 17, 16, 18, 92};

}  // namespace

std::uint8_t SceneKeyboard::column_of(std::uint16_t usage) noexcept {
  const auto in = [usage](std::uint16_t first, std::uint16_t last) { return usage >= first && usage <= last; };
  const auto from = [usage](std::uint16_t first, int code) { return static_cast<std::uint8_t>(code + usage - first); };
  if (in(4, 29)) {
    return from(4, 'A');
  }
  if (in(30, 38)) {
    return from(30, '1');
  }
  if (in(40, 57)) {
    return after_digits.at(usage - 40U);
  }
  if (in(58, 69)) {
    return from(58, 112);  // F1 to F12
  }
  if (in(70, 88)) {
    return after_functions.at(usage - 70U);
  }
  if (in(89, 97)) {
    return from(89, 97);  // 1 to 9 of the keypad
  }
  if (in(224, 231)) {
    return modifiers.at(usage - 224U);
  }
  switch (usage) {
    case 39:
      return '0';
    case 98:  // 0 of the keypad
      return 96;
    case 99:  // its point
      return 110;
    case 100:  // the key between left Shift and Z
      return 226;
    case 101:  // Menu
      return 93;
    default:
      return 0;
  }
}

void SceneKeyboard::take(const InputEvent& event) noexcept {
  const auto* const key = std::get_if<KeyInput>(&event.what);
  const std::uint8_t column = key != nullptr && !key->is_repeat ? column_of(key->usage) : std::uint8_t{0};
  if (column == 0) {
    return;
  }
  texel(now_, is_down, column) = key->is_pressed ? on : 0;
  if (key->is_pressed) {
    texel(now_, was_pressed, column) = on;
    texel(now_, is_toggled, column) ^= on;
  }
}

const KeyboardTexels& SceneKeyboard::texels() noexcept {
  shown_ = now_;
  std::ranges::fill_n(now_.begin() + was_pressed * keyboard_columns, keyboard_columns, std::uint8_t{0});
  return shown_;
}

}  // namespace framewire
