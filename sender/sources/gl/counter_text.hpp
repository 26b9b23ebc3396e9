// The frame counter that gl: burns into every frame: what it says and exactly where it stands, so that a program can
// read it too.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "base/text.hpp"

namespace framewire {

inline constexpr std::uint32_t counter_cell_side = 8;  // of a character, in dots
inline constexpr std::size_t max_counter_characters = 40;

/// The dots of one character: bit 8 * y + x is the dot at x from the left and y from the top. Digits, '.', ' ' and the
/// letters of "frames"; anything else is blank.
std::uint64_t glyph(char character) noexcept;

/// "frame 001234    20.57 s" as glyphs: at least six digits of the frame's number, then its time.
struct CounterText {
  std::array<char, max_counter_characters> characters{};
  std::size_t length = 0;
};
CounterText counter_text(std::uint64_t frame, double time_s) noexcept;

/// Every dot is a square of `scale` pixels. The first character's top left dot is at (left, top), from the top left of
/// the picture. Dots that are set are near white (above 80 % luma), all others within the text are darker than 45 %.
struct CounterPlace {
  std::uint32_t scale;
  std::uint32_t left;
  std::uint32_t top;
};

/// scale = (height + 180) / 360, at least 1, and as much smaller as it takes for 26 characters to fit the width; left =
/// top = 12 * scale.
CounterPlace counter_place(Size picture) noexcept;

}  // namespace framewire
