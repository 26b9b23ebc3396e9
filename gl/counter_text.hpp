// The frame counter that gl: draws into every frame. Text and position are exactly defined, so that a program can read
// it too.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "base/text.hpp"

namespace framewire {

inline constexpr std::uint32_t counter_cell_side = 8;  // of a character, in dots
inline constexpr std::size_t max_counter_characters = 40;

/// The dots of one character: bit 8 * y + x is the dot in column x from the left and row y from the top. Supports
/// digits, '.', ' ' and the letters of "frames"; others are blank.
std::uint64_t glyph(char character) noexcept;

/// "frame 001234    20.57 s" as glyphs: at least six digits of the frame's number, then its time.
struct CounterText {
  std::array<char, max_counter_characters> characters{};
  std::size_t length = 0;
};
CounterText counter_text(std::uint64_t frame, double time_s) noexcept;

/// Every dot is a square of `scale` pixels. (left, top) is the first character's top left dot, from the top left of the
/// picture. Set dots are near white (luma above 80 %); all others within the text have less than 45 %.
struct CounterPlace {
  std::uint32_t scale;
  std::uint32_t left;
  std::uint32_t top;
};

/// scale = (height + 180) / 360, reduced until 26 characters fit the width, and at least 1. left = top = 12 * scale.
CounterPlace counter_place(Size picture) noexcept;

}  // namespace framewire
