#include "viewer/key_codes.hpp"

#define GLFW_INCLUDE_NONE
#include <GLFW/glfw3.h>

#include <algorithm>
#include <array>

namespace framewire {

namespace {

/// In the order of GLFW's numbers. Keys that GLFW names for a US keyboard stand for their places, as HID's usages do.
/// GLFW_KEY_WORLD_1 is the key beside the left Shift on X11, and GLFW_KEY_WORLD_2 the one beside Enter.
constexpr std::array key_table = {
    KeyCode{GLFW_KEY_SPACE, 0x2C, 0x0020},
    KeyCode{GLFW_KEY_APOSTROPHE, 0x34},
    KeyCode{GLFW_KEY_COMMA, 0x36},
    KeyCode{GLFW_KEY_MINUS, 0x2D},
    KeyCode{GLFW_KEY_PERIOD, 0x37},
    KeyCode{GLFW_KEY_SLASH, 0x38},
    KeyCode{GLFW_KEY_0, 0x27},
    KeyCode{GLFW_KEY_1, 0x1E},
    KeyCode{GLFW_KEY_2, 0x1F},
    KeyCode{GLFW_KEY_3, 0x20},
    KeyCode{GLFW_KEY_4, 0x21},
    KeyCode{GLFW_KEY_5, 0x22},
    KeyCode{GLFW_KEY_6, 0x23},
    KeyCode{GLFW_KEY_7, 0x24},
    KeyCode{GLFW_KEY_8, 0x25},
    KeyCode{GLFW_KEY_9, 0x26},
    KeyCode{GLFW_KEY_SEMICOLON, 0x33},
    KeyCode{GLFW_KEY_EQUAL, 0x2E},
    KeyCode{GLFW_KEY_A, 0x04},
    KeyCode{GLFW_KEY_B, 0x05},
    KeyCode{GLFW_KEY_C, 0x06},
    KeyCode{GLFW_KEY_D, 0x07},
    KeyCode{GLFW_KEY_E, 0x08},
    KeyCode{GLFW_KEY_F, 0x09},
    KeyCode{GLFW_KEY_G, 0x0A},
    KeyCode{GLFW_KEY_H, 0x0B},
    KeyCode{GLFW_KEY_I, 0x0C},
    KeyCode{GLFW_KEY_J, 0x0D},
    KeyCode{GLFW_KEY_K, 0x0E},
    KeyCode{GLFW_KEY_L, 0x0F},
    KeyCode{GLFW_KEY_M, 0x10},
    KeyCode{GLFW_KEY_N, 0x11},
    KeyCode{GLFW_KEY_O, 0x12},
    KeyCode{GLFW_KEY_P, 0x13},
    KeyCode{GLFW_KEY_Q, 0x14},
    KeyCode{GLFW_KEY_R, 0x15},
    KeyCode{GLFW_KEY_S, 0x16},
    KeyCode{GLFW_KEY_T, 0x17},
    KeyCode{GLFW_KEY_U, 0x18},
    KeyCode{GLFW_KEY_V, 0x19},
    KeyCode{GLFW_KEY_W, 0x1A},
    KeyCode{GLFW_KEY_X, 0x1B},
    KeyCode{GLFW_KEY_Y, 0x1C},
    KeyCode{GLFW_KEY_Z, 0x1D},
    KeyCode{GLFW_KEY_LEFT_BRACKET, 0x2F},
    KeyCode{GLFW_KEY_BACKSLASH, 0x31},
    KeyCode{GLFW_KEY_RIGHT_BRACKET, 0x30},
    KeyCode{GLFW_KEY_GRAVE_ACCENT, 0x35},
    KeyCode{GLFW_KEY_WORLD_1, 0x64},
    KeyCode{GLFW_KEY_WORLD_2, 0x32},
    KeyCode{GLFW_KEY_ESCAPE, 0x29, 0xFF1B},
    KeyCode{GLFW_KEY_ENTER, 0x28, 0xFF0D},
    KeyCode{GLFW_KEY_TAB, 0x2B, 0xFF09},
    KeyCode{GLFW_KEY_BACKSPACE, 0x2A, 0xFF08},
    KeyCode{GLFW_KEY_INSERT, 0x49, 0xFF63},
    KeyCode{GLFW_KEY_DELETE, 0x4C, 0xFFFF},
    KeyCode{GLFW_KEY_RIGHT, 0x4F, 0xFF53},
    KeyCode{GLFW_KEY_LEFT, 0x50, 0xFF51},
    KeyCode{GLFW_KEY_DOWN, 0x51, 0xFF54},
    KeyCode{GLFW_KEY_UP, 0x52, 0xFF52},
    KeyCode{GLFW_KEY_PAGE_UP, 0x4B, 0xFF55},
    KeyCode{GLFW_KEY_PAGE_DOWN, 0x4E, 0xFF56},
    KeyCode{GLFW_KEY_HOME, 0x4A, 0xFF50},
    KeyCode{GLFW_KEY_END, 0x4D, 0xFF57},
    KeyCode{GLFW_KEY_CAPS_LOCK, 0x39, 0xFFE5},
    KeyCode{GLFW_KEY_SCROLL_LOCK, 0x47, 0xFF14},
    KeyCode{GLFW_KEY_NUM_LOCK, 0x53, 0xFF7F},
    KeyCode{GLFW_KEY_PRINT_SCREEN, 0x46, 0xFF61},
    KeyCode{GLFW_KEY_PAUSE, 0x48, 0xFF13},
    KeyCode{GLFW_KEY_F1, 0x3A, 0xFFBE},
    KeyCode{GLFW_KEY_F2, 0x3B, 0xFFBF},
    KeyCode{GLFW_KEY_F3, 0x3C, 0xFFC0},
    KeyCode{GLFW_KEY_F4, 0x3D, 0xFFC1},
    KeyCode{GLFW_KEY_F5, 0x3E, 0xFFC2},
    KeyCode{GLFW_KEY_F6, 0x3F, 0xFFC3},
    KeyCode{GLFW_KEY_F7, 0x40, 0xFFC4},
    KeyCode{GLFW_KEY_F8, 0x41, 0xFFC5},
    KeyCode{GLFW_KEY_F9, 0x42, 0xFFC6},
    KeyCode{GLFW_KEY_F10, 0x43, 0xFFC7},
    KeyCode{GLFW_KEY_F11, 0x44, 0xFFC8},
    KeyCode{GLFW_KEY_F12, 0x45, 0xFFC9},
    KeyCode{GLFW_KEY_F13, 0x68, 0xFFCA},
    KeyCode{GLFW_KEY_F14, 0x69, 0xFFCB},
    KeyCode{GLFW_KEY_F15, 0x6A, 0xFFCC},
    KeyCode{GLFW_KEY_F16, 0x6B, 0xFFCD},
    KeyCode{GLFW_KEY_F17, 0x6C, 0xFFCE},
    KeyCode{GLFW_KEY_F18, 0x6D, 0xFFCF},
    KeyCode{GLFW_KEY_F19, 0x6E, 0xFFD0},
    KeyCode{GLFW_KEY_F20, 0x6F, 0xFFD1},
    KeyCode{GLFW_KEY_F21, 0x70, 0xFFD2},
    KeyCode{GLFW_KEY_F22, 0x71, 0xFFD3},
    KeyCode{GLFW_KEY_F23, 0x72, 0xFFD4},
    KeyCode{GLFW_KEY_F24, 0x73, 0xFFD5},
    KeyCode{GLFW_KEY_F25, 0x00, 0xFFD6},
    KeyCode{GLFW_KEY_KP_0, 0x62, 0xFFB0},
    KeyCode{GLFW_KEY_KP_1, 0x59, 0xFFB1},
    KeyCode{GLFW_KEY_KP_2, 0x5A, 0xFFB2},
    KeyCode{GLFW_KEY_KP_3, 0x5B, 0xFFB3},
    KeyCode{GLFW_KEY_KP_4, 0x5C, 0xFFB4},
    KeyCode{GLFW_KEY_KP_5, 0x5D, 0xFFB5},
    KeyCode{GLFW_KEY_KP_6, 0x5E, 0xFFB6},
    KeyCode{GLFW_KEY_KP_7, 0x5F, 0xFFB7},
    KeyCode{GLFW_KEY_KP_8, 0x60, 0xFFB8},
    KeyCode{GLFW_KEY_KP_9, 0x61, 0xFFB9},
    KeyCode{GLFW_KEY_KP_DECIMAL, 0x63, 0xFFAE},
    KeyCode{GLFW_KEY_KP_DIVIDE, 0x54, 0xFFAF},
    KeyCode{GLFW_KEY_KP_MULTIPLY, 0x55, 0xFFAA},
    KeyCode{GLFW_KEY_KP_SUBTRACT, 0x56, 0xFFAD},
    KeyCode{GLFW_KEY_KP_ADD, 0x57, 0xFFAB},
    KeyCode{GLFW_KEY_KP_ENTER, 0x58, 0xFF8D},
    KeyCode{GLFW_KEY_KP_EQUAL, 0x67, 0xFFBD},
    KeyCode{GLFW_KEY_LEFT_SHIFT, 0xE1, 0xFFE1},
    KeyCode{GLFW_KEY_LEFT_CONTROL, 0xE0, 0xFFE3},
    KeyCode{GLFW_KEY_LEFT_ALT, 0xE2, 0xFFE9},
    KeyCode{GLFW_KEY_LEFT_SUPER, 0xE3, 0xFFEB},
    KeyCode{GLFW_KEY_RIGHT_SHIFT, 0xE5, 0xFFE2},
    KeyCode{GLFW_KEY_RIGHT_CONTROL, 0xE4, 0xFFE4},
    KeyCode{GLFW_KEY_RIGHT_ALT, 0xE6, 0xFFEA},
    KeyCode{GLFW_KEY_RIGHT_SUPER, 0xE7, 0xFFEC},
    KeyCode{GLFW_KEY_MENU, 0x65, 0xFF67},
};
static_assert(std::ranges::is_sorted(key_table, {}, &KeyCode::glfw));

}  // namespace

std::span<const KeyCode> key_codes() noexcept {
  return key_table;
}

const KeyCode* find_key_code(int glfw) noexcept {
  const auto* const found = std::ranges::lower_bound(key_table, glfw, {}, &KeyCode::glfw);
  return found != key_table.end() && found->glfw == glfw ? found : nullptr;
}

/// Without a check of what UTF-8 may have: GLFW made it.
std::uint32_t keysym_of(std::string_view name) noexcept {
  if (name.empty()) {
    return 0;
  }
  const auto byte = [&](std::size_t i) { return static_cast<std::uint8_t>(name[i]); };
  const std::size_t length = byte(0) < 0x80 ? 1 : byte(0) < 0xE0 ? 2 : byte(0) < 0xF0 ? 3 : 4;
  if (name.size() != length) {
    return 0;
  }
  std::uint32_t character = length == 1 ? byte(0) : byte(0) & (0x7FU >> length);
  for (std::size_t i = 1; i < length; ++i) {
    character = character << 6U | (byte(i) & 0x3FU);
  }
  if (character < 0x20 || (character >= 0x7F && character < 0xA0)) {
    return 0;
  }
  constexpr std::uint32_t unicode = 0x0100'0000;  // keysymdef.h: a Unicode character that Latin-1 does not have
  return character < 0x100 ? character : unicode | character;
}

}  // namespace framewire
