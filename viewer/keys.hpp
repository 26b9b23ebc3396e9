// The keys of the window, and what the mouse does. A new key is one entry here.
#pragma once

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <string_view>

#include "viewer/input.hpp"
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
    KeyBinding{'r', "R", &SurfaceEvents::recording_toggle_requested, "record what the window shows, or end that"},
};

/// A key that arranges the picture.
struct SceneKeyBinding {
  char letter;  // small; '\0': the key has none
  std::string_view names;
  SceneKey key;
  std::string_view help;
};

inline constexpr std::array scene_key_bindings = {
    SceneKeyBinding{'\0', "Tab", SceneKey::select, "select the next layer; with Shift the one before"},
    SceneKeyBinding{'\0', "Arrows", SceneKey::left, "move it by a pixel, with Shift by 10; or pan, after Z"},
    SceneKeyBinding{'\0', "Page Up", SceneKey::to_front, "bring it to the front"},
    SceneKeyBinding{'\0', "Page Down", SceneKey::to_back, "send it to the back"},
    SceneKeyBinding{'m', "M", SceneKey::hide, "hide it, or show it again"},
    SceneKeyBinding{'z', "Z", SceneKey::zoom, "show it pixel by pixel, or fitted again; also a stream that is alone"},
    SceneKeyBinding{'l', "L", SceneKey::next_layout, "go through the layouts grid, side, pip and overlay"},
    SceneKeyBinding{'0', "0", SceneKey::reset, "undo all of this: show the scene as it was given"},
};

/// What the mouse, or a key that --host-key may change, does: for --help and README.md.
struct MouseHelp {
  std::string_view names;
  std::string_view help;
};

inline constexpr std::array mouse_help = {
    MouseHelp{"Click", "select a layer; beside all of them: none"},
    MouseHelp{"Drag", "move a layer; at an edge or corner of the selected one: resize it"},
    MouseHelp{"Right drag", "pan, after Z"},
};

inline constexpr std::array input_help = {
    MouseHelp{"Right Ctrl", "with --input: release what a click has captured for a sender, or capture it again"},
};

/// Sets the event of the key with this letter, if there is one.
constexpr void press_key(char letter, SurfaceEvents& events) noexcept {
  for (const KeyBinding& key : key_bindings) {
    if (key.letter == letter) {
      events.*key.event = true;
    }
  }
}

/// What the key with this letter asks for; nothing if it does not arrange the picture.
constexpr std::optional<SceneKey> scene_key_of(char letter) noexcept {
  for (const SceneKeyBinding& binding : scene_key_bindings) {
    if (letter != '\0' && binding.letter == letter) {
      return binding.key;
    }
  }
  return std::nullopt;
}

/// For --help: one line for each key, and for what the mouse does.
inline std::string key_help() {
  std::string text;
  const auto add = [&text](const auto& binding) {
    constexpr std::size_t column = 12;
    text += "  " + std::string(binding.names) + std::string(column - binding.names.size(), ' ') +
            std::string(binding.help) + "\n";
  };
  std::ranges::for_each(key_bindings, add);
  std::ranges::for_each(scene_key_bindings, add);
  std::ranges::for_each(mouse_help, add);
  std::ranges::for_each(input_help, add);
  return text;
}

}  // namespace framewire
