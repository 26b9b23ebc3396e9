#include "viewer/orbit_control.hpp"

#include <gtest/gtest.h>

namespace framewire {
namespace {

SceneInput moved(double x, double y, bool is_left_down) {
  return {.kind = SceneInput::Kind::move, .x = x, .y = y, .is_left_down = is_left_down};
}

SceneInput pressed(SceneKey key) {
  return {.kind = SceneInput::Kind::key, .key = key};
}

double distance(const OrbitControl& control) {
  const auto& m = control.camera().to_world;
  return std::sqrt(double{m[3]} * m[3] + double{m[7]} * m[7] + double{m[11]} * m[11]);
}

TEST(OrbitControl, ADragTurnsTheSceneWithThePointer) {
  OrbitControl control;
  const Camera before = control.camera();
  EXPECT_FALSE(control.take(moved(100, 100, false)));
  EXPECT_FALSE(control.take({.kind = SceneInput::Kind::press, .x = 100, .y = 100, .is_left_down = true}));
  EXPECT_TRUE(control.take(moved(130, 100, true)));
  EXPECT_EQ(control.camera(), orbiting_camera(0.5 - 30 * OrbitControl::rad_per_pixel, 0.35, usual_camera_distance));
  EXPECT_TRUE(control.take(moved(130, 120, true)));
  EXPECT_GT(control.camera().to_world[7], before.to_world[7]) << "down shows the top";
  EXPECT_TRUE(control.take(moved(100, 100, true)));
  EXPECT_NEAR(control.camera().to_world[3], before.to_world[3], 1e-6) << "and back";
}

TEST(OrbitControl, TheWheelComesNearerWithinBounds) {
  OrbitControl control;
  EXPECT_TRUE(control.take({.kind = SceneInput::Kind::wheel, .notches = 1}));
  EXPECT_NEAR(distance(control), usual_camera_distance * 0.9, 1e-5);
  EXPECT_TRUE(control.take({.kind = SceneInput::Kind::wheel, .notches = -2}));
  EXPECT_NEAR(distance(control), usual_camera_distance / 0.9, 1e-5);
  for (int i = 0; i < 100; ++i) {
    control.take({.kind = SceneInput::Kind::wheel, .notches = 1e9});
  }
  EXPECT_NEAR(distance(control), OrbitControl::nearest, 1e-6);
  for (int i = 0; i < 100; ++i) {
    control.take({.kind = SceneInput::Kind::wheel, .notches = -1e9});
  }
  EXPECT_NEAR(distance(control), OrbitControl::farthest, 1e-3);
}

TEST(OrbitControl, KeysTurnAndResetIt) {
  OrbitControl control;
  const Camera before = control.camera();
  for (const SceneKey key : {SceneKey::left, SceneKey::up, SceneKey::down, SceneKey::right, SceneKey::to_front}) {
    EXPECT_TRUE(control.take(pressed(key)));
  }
  EXPECT_TRUE(control.take(pressed(SceneKey::reset)));
  EXPECT_EQ(control.camera(), before);
  EXPECT_FALSE(control.take(pressed(SceneKey::zoom)));
}

TEST(OrbitControl, NeverLooksOverTheTop) {
  OrbitControl control;
  for (int i = 0; i < 1000; ++i) {
    control.take(pressed(SceneKey::up));
  }
  EXPECT_GT(control.camera().to_world[5], 0.05F) << "up stays up";
  EXPECT_FALSE(control.take(pressed(SceneKey::up)));
}

}  // namespace
}  // namespace framewire
