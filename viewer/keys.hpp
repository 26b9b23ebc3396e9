// The keys of the window. A new key is one entry here.
#pragma once

#include <array>
#include <string>
#include <string_view>

#include "viewer/surface.hpp"

namespace framewire {

/// A key of the keyboard, and the event that it makes.
struct KeyBinding {
  char letter;             // small, in the user's keyboard layout
  std::string_view names;  // as --help and README.md have it
  bool SurfaceEvents::*event;
  std::string_view help;
};

/// Escape counts as q.
inline constexpr std::array key_bindings = {
    KeyBinding{'q', "Q, Esc", &SurfaceEvents::quit_requested, "quit"},
    KeyBinding{'f', "F", &SurfaceEvents::fullscreen_toggle_requested, "turn fullscreen on or off"},
    KeyBinding{'h', "H", &SurfaceEvents::panel_toggle_requested, "show or hide rate, latency and skipped frames"},
    KeyBinding{'s', "S", &SurfaceEvents::screenshot_requested, "take a screenshot"},
};

/// Sets the event of the key with this letter, if there is one.
constexpr void press_key(char letter, SurfaceEvents& events) noexcept {
  for (const KeyBinding& key : key_bindings) {
    if (key.letter == letter) {
      events.*key.event = true;
    }
  }
}

/// For --help: one line for each key.
inline std::string key_help() {
  std::string text;
  for (const KeyBinding& key : key_bindings) {
    constexpr std::size_t column = 8;
    text += "  " + std::string(key.names) + std::string(column - key.names.size(), ' ') + std::string(key.help) + "\n";
  }
  return text;
}

}  // namespace framewire
