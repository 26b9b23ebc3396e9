#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <map>

#include "gl/scene_keyboard.hpp"

namespace framewire {
namespace {

InputEvent key(std::uint16_t usage, bool is_pressed, bool is_repeat = false) {
  return {1, KeyInput{.usage = usage, .is_pressed = is_pressed, .is_repeat = is_repeat}};
}

/// Down, pressed, toggled.
std::array<int, 3> rows_of(const KeyboardTexels& texels, std::uint8_t column) {
  return {texels[column], texels[keyboard_columns + column], texels[2 * keyboard_columns + column]};
}

using Rows = std::array<int, 3>;

TEST(SceneKeyboard, HasShadertoysRows) {
  SceneKeyboard keyboard;
  EXPECT_EQ(keyboard.texels(), KeyboardTexels{});
  keyboard.take(key(4, true));
  EXPECT_EQ(rows_of(keyboard.texels(), 'A'), (Rows{255, 255, 255}));
  keyboard.take(key(4, true, true));
  EXPECT_EQ(rows_of(keyboard.texels(), 'A'), (Rows{255, 0, 255})) << "a repetition is no press";
  keyboard.take(key(4, false));
  EXPECT_EQ(rows_of(keyboard.texels(), 'A'), (Rows{0, 0, 255}));
  keyboard.take(key(4, true));
  keyboard.take(key(4, false));
  EXPECT_EQ(rows_of(keyboard.texels(), 'A'), (Rows{0, 255, 0})) << "within one frame";
  EXPECT_EQ(keyboard.texels(), KeyboardTexels{});
}

TEST(SceneKeyboard, OtherInputDoesNothing) {
  SceneKeyboard keyboard;
  keyboard.take(key(0, true));
  keyboard.take(key(3, true));
  keyboard.take(key(65'535, true));
  keyboard.take({1, ButtonInput{.button = InputButton::left, .is_pressed = true}});
  EXPECT_EQ(keyboard.texels(), KeyboardTexels{});
}

/// Of https://developer.mozilla.org/docs/Web/API/KeyboardEvent/keyCode, for a US keyboard.
TEST(SceneKeyboard, ColumnsAreKeyCodes) {
  const std::map<int, int> expected{
      {4, 65},   {29, 90},   {30, 49},  {38, 57},  {39, 48},  {40, 13},  {41, 27},  {42, 8},    {43, 9},
      {44, 32},  {45, 189},  {46, 187}, {47, 219}, {48, 221}, {49, 220}, {51, 186}, {52, 222},  {53, 192},
      {54, 188}, {55, 190},  {56, 191}, {57, 20},  {58, 112}, {69, 123}, {71, 145}, {72, 19},   {73, 45},
      {74, 36},  {75, 33},   {76, 46},  {77, 35},  {78, 34},  {79, 39},  {80, 37},  {81, 40},   {82, 38},
      {83, 144}, {84, 111},  {85, 106}, {86, 109}, {87, 107}, {88, 13},  {89, 97},  {97, 105},  {98, 96},
      {99, 110}, {100, 226}, {101, 93}, {224, 17}, {225, 16}, {226, 18}, {227, 91}, {228, 17},  {229, 16},
      {230, 18}, {231, 92},  {0, 0},    {3, 0},    {102, 0},  {223, 0},  {232, 0},  {65'535, 0}};
  for (const auto& [usage, column] : expected) {
    EXPECT_EQ(SceneKeyboard::column_of(static_cast<std::uint16_t>(usage)), column) << usage;
  }
}

}  // namespace
}  // namespace framewire
