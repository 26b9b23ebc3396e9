#include <gtest/gtest.h>

#include <array>

#include "gl/scene_mouse.hpp"

namespace framewire {
namespace {

using Four = std::array<float, 4>;
using Two = std::array<float, 2>;

InputEvent moved_to(double x, double y, double dx = 0, double dy = 0) {
  return {1, PointerInput{.x = x, .y = y, .dx = dx, .dy = dy}};
}
InputEvent left(bool is_pressed, double x, double y) {
  return {1, ButtonInput{.button = InputButton::left, .is_pressed = is_pressed, .x = x, .y = y}};
}

/// As https://www.shadertoy.com/howto says of iMouse.
TEST(SceneMouse, HasShadertoysSigns) {
  SceneMouse mouse(100);
  mouse.take(moved_to(50, 60));
  EXPECT_EQ(mouse.position(), (Four{0, 0, 0, 0})) << "only while the button is pressed";
  mouse.take(left(true, 30, 20));
  EXPECT_EQ(mouse.position(), (Four{30, 80, 30, 80})) << "y counts from the bottom";
  EXPECT_EQ(mouse.position(), (Four{30, 80, 30, -80})) << "w: the click was in an earlier frame";
  mouse.take(moved_to(40, 10, 10, -10));
  EXPECT_EQ(mouse.position(), (Four{40, 90, 30, -80}));
  mouse.take(left(false, 40, 10));
  mouse.take(moved_to(1, 1, -39, -9));
  EXPECT_EQ(mouse.position(), (Four{40, 90, -30, -80})) << "z: the button is released";
}

TEST(SceneMouse, SeesAClickWithinOneFrame) {
  SceneMouse mouse(100);
  mouse.take(left(true, 30, 20));
  mouse.take(left(false, 30, 20));
  EXPECT_EQ(mouse.position(), (Four{30, 80, -30, 80}));
}

TEST(SceneMouse, AddsUpDragsAndTheWheel) {
  SceneMouse mouse(100);
  mouse.take(moved_to(0, 0, 5, 5));
  for (int i = 0; i < 2; ++i) {
    mouse.take(left(true, 0, 0));
    mouse.take(moved_to(3, 4, 3, 4));
    mouse.take(left(false, 3, 4));
    mouse.take({1, WheelInput{.dx = 0.5, .dy = -1}});
  }
  EXPECT_EQ(mouse.drag(), (Two{6, -8}));
  EXPECT_EQ(mouse.wheel(), (Two{1, -2}));
}

TEST(SceneMouse, OtherButtonsAndKeysDoNothing) {
  SceneMouse mouse(100);
  mouse.take({1, ButtonInput{.button = InputButton::right, .is_pressed = true, .x = 3, .y = 3}});
  mouse.take({1, KeyInput{.usage = 4, .is_pressed = true}});
  mouse.take(left(false, 7, 7));
  EXPECT_EQ(mouse.position(), (Four{0, 0, 0, 0}));
}

TEST(SceneMouse, ALockedPointerMovesByItsDifferences) {
  SceneMouse mouse(100);
  mouse.take(left(true, 10, 10));
  mouse.take({1, PointerInput{.dx = 2, .dy = 3, .is_locked = true}});
  EXPECT_EQ(mouse.position(), (Four{12, 87, 10, 90}));
}

}  // namespace
}  // namespace framewire
