// What a viewer's keyboard does to a scene, as Shadertoy has it.
#pragma once

#include <cstdint>

#include "gl/scene_program.hpp"
#include "input/events.hpp"

namespace framewire {

/// One thread.
class SceneKeyboard {
 public:
  void take(const InputEvent& event) noexcept;

  /// iKeyboard, of the frame that is drawn next. Valid until the next call.
  [[nodiscard]] const KeyboardTexels& texels() noexcept;

  /// The column of a key in it: the keyCode that browsers have for it on a US keyboard
  /// (https://www.w3.org/TR/uievents/#legacy-key-models, and MDN's table of KeyboardEvent.keyCode). 0: it has none.
  /// `usage`: USB HID Usage Tables 1.4, page 7.
  static std::uint8_t column_of(std::uint16_t usage) noexcept;

 private:
  KeyboardTexels shown_{};
  KeyboardTexels now_{};
};

}  // namespace framewire
