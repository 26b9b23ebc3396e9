#include "frame/camera.hpp"

#include <gtest/gtest.h>

#include <limits>

namespace framewire {
namespace {

double column_product(const Camera& camera, std::size_t a, std::size_t b) {
  double sum = 0;
  for (std::size_t row = 0; row < 3; ++row) {
    sum += double{camera.to_world.at(4 * row + a)} * double{camera.to_world.at(4 * row + b)};
  }
  return sum;
}

TEST(Camera, ThatOrbitsIsRigidAndLooksAtTheOrigin) {
  for (const double turn : {-3.0, 0.0, 0.4, 2.0}) {
    for (const double lift : {-1.2, 0.0, 0.7}) {
      const Camera camera = orbiting_camera(turn, lift, 5);
      for (std::size_t a = 0; a < 3; ++a) {
        for (std::size_t b = 0; b < 3; ++b) {
          EXPECT_NEAR(column_product(camera, a, b), a == b ? 1 : 0, 1e-6);
        }
      }
      EXPECT_NEAR(column_product(camera, 2, 3), 5, 1e-5) << "it is behind itself, seen from the origin";
      EXPECT_NEAR(column_product(camera, 0, 3), 0, 1e-5);
      EXPECT_NEAR(column_product(camera, 1, 3), 0, 1e-5);
    }
  }
}

TEST(Camera, TurnsToItsRightAndRises) {
  EXPECT_EQ(orbiting_camera(0, 0, 2).to_world[11], 2.0F) << "z: in front";
  EXPECT_GT(orbiting_camera(0.1, 0, 2).to_world[3], 0.1F) << "x";
  EXPECT_GT(orbiting_camera(0, 0.1, 2).to_world[7], 0.1F) << "y";
  const Camera camera = orbiting_camera(0, 0, 1);
  EXPECT_EQ(camera.to_world[0], 1.0F) << "right is x";
  EXPECT_EQ(camera.to_world[5], 1.0F) << "up is y";
}

TEST(Camera, OfAPeerIsFiniteAndSeesSomething) {
  EXPECT_TRUE(is_possible(Camera{}));
  for (const float wrong : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity(), -2e9F}) {
    Camera camera;
    camera.to_world[7] = wrong;
    EXPECT_FALSE(is_possible(camera)) << wrong;
  }
  for (const float wrong : {0.0F, -1.0F, 3.2F, std::numeric_limits<float>::quiet_NaN()}) {
    Camera camera;
    camera.field_of_view_rad = wrong;
    EXPECT_FALSE(is_possible(camera)) << wrong;
  }
}

}  // namespace
}  // namespace framewire
