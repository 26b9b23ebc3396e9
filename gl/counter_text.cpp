#include "gl/counter_text.hpp"

#include <algorithm>
#include <cinttypes>
#include <cstdio>

namespace framewire {

namespace {

struct Glyph {
  char character;
  std::array<std::uint8_t, 7>
      rows;  // top first; the leftmost dot is the highest bit, so that digits are readable in this table
};

// clang-format off
constexpr std::array glyphs = {
    Glyph{'0', {0b01111100, 0b11000110, 0b11000110, 0b11000110, 0b11000110, 0b11000110, 0b01111100}},
    Glyph{'1', {0b00011000, 0b00111000, 0b01111000, 0b00011000, 0b00011000, 0b00011000, 0b01111110}},
    Glyph{'2', {0b01111100, 0b11000110, 0b00000110, 0b00011100, 0b01110000, 0b11000000, 0b11111110}},
    Glyph{'3', {0b01111100, 0b11000110, 0b00000110, 0b00111100, 0b00000110, 0b11000110, 0b01111100}},
    Glyph{'4', {0b00011100, 0b00111100, 0b01101100, 0b11001100, 0b11111110, 0b00001100, 0b00001100}},
    Glyph{'5', {0b11111110, 0b11000000, 0b11111100, 0b00000110, 0b00000110, 0b11000110, 0b01111100}},
    Glyph{'6', {0b01111100, 0b11000000, 0b11000000, 0b11111100, 0b11000110, 0b11000110, 0b01111100}},
    Glyph{'7', {0b11111110, 0b00000110, 0b00001100, 0b00011000, 0b00110000, 0b00110000, 0b00110000}},
    Glyph{'8', {0b01111100, 0b11000110, 0b11000110, 0b01111100, 0b11000110, 0b11000110, 0b01111100}},
    Glyph{'9', {0b01111100, 0b11000110, 0b11000110, 0b01111110, 0b00000110, 0b00000110, 0b01111100}},
    Glyph{'.', {0b00000000, 0b00000000, 0b00000000, 0b00000000, 0b00000000, 0b00110000, 0b00110000}},
    Glyph{'a', {0b00000000, 0b00000000, 0b01111100, 0b00000110, 0b01111110, 0b11000110, 0b01111110}},
    Glyph{'e', {0b00000000, 0b00000000, 0b01111100, 0b11000110, 0b11111110, 0b11000000, 0b01111100}},
    Glyph{'f', {0b00111100, 0b01100000, 0b01100000, 0b11111000, 0b01100000, 0b01100000, 0b01100000}},
    Glyph{'m', {0b00000000, 0b00000000, 0b11101100, 0b11111110, 0b11010110, 0b11010110, 0b11000110}},
    Glyph{'r', {0b00000000, 0b00000000, 0b11011100, 0b11100110, 0b11000000, 0b11000000, 0b11000000}},
    Glyph{'s', {0b00000000, 0b00000000, 0b01111110, 0b11000000, 0b01111100, 0b00000110, 0b11111100}},
};
// clang-format on

constexpr std::uint32_t widest_usual_text = 26;  // characters, margins included

}  // namespace

std::uint64_t glyph(char character) noexcept {
  const auto found = std::ranges::find(glyphs, character, &Glyph::character);
  std::uint64_t dots = 0;
  if (found != glyphs.end()) {
    for (std::size_t y = 0; y < found->rows.size(); ++y) {
      for (std::size_t x = 0; x < counter_cell_side; ++x) {
        const std::uint64_t dot = (found->rows.at(y) >> (counter_cell_side - 1 - x)) & 1;
        dots |= dot << (counter_cell_side * y + x);
      }
    }
  }
  return dots;
}

CounterText counter_text(std::uint64_t frame, double time_s) noexcept {
  CounterText text;
  const int length =
      std::snprintf(text.characters.data(), text.characters.size(), "frame %06" PRIu64 " %8.2f s", frame, time_s);
  text.length = std::min(static_cast<std::size_t>(std::max(length, 0)), text.characters.size() - 1);
  return text;
}

CounterPlace counter_place(Size picture) noexcept {
  const std::uint32_t by_height = (picture.height + 180) / 360;
  const std::uint32_t by_width = picture.width / (widest_usual_text * counter_cell_side);
  const std::uint32_t scale = std::max(std::min(by_height, by_width), 1U);
  return {scale, 12 * scale, 12 * scale};
}

}  // namespace framewire
