#include "viewer/dragged_box.hpp"

#include <gtest/gtest.h>

#include <random>

namespace framewire {
namespace {

constexpr Size drag_surface{800, 600};

TEST(DraggedBox, IsHeldAtItsEdgesAndCorners) {
  const PictureRectangle box{100, 100, 200, 100};
  EXPECT_EQ(grip_at(box, 100, 150), (Grip{-1, 0}));
  EXPECT_EQ(grip_at(box, 95, 150), (Grip{-1, 0})) << "from outside";
  EXPECT_EQ(grip_at(box, 93, 150), std::nullopt);
  EXPECT_EQ(grip_at(box, 305, 150), (Grip{1, 0}));
  EXPECT_EQ(grip_at(box, 200, 97), (Grip{0, -1}));
  EXPECT_EQ(grip_at(box, 200, 203), (Grip{0, 1}));
  EXPECT_EQ(grip_at(box, 300, 200), (Grip{1, 1}));
  EXPECT_EQ(grip_at(box, 300, 190), (Grip{1, 1})) << "a corner is longer than an edge is wide";
  EXPECT_EQ(grip_at(box, 290, 100), (Grip{1, -1}));
  EXPECT_EQ(grip_at(box, 200, 150), std::nullopt) << "inside";
}

TEST(DraggedBox, CanAlwaysBeMoved) {
  for (int side = 1; side < 100; ++side) {
    EXPECT_EQ(grip_at({10, 10, side, side}, 10 + side / 2.0, 10 + side / 2.0), std::nullopt) << side;
  }
}

TEST(DraggedBox, StaysPartlyOnTheSurface) {
  const PictureRectangle box{100, 100, 200, 100};
  EXPECT_EQ(moved(box, -5000, -5000, drag_surface), (PictureRectangle{16 - 200, 16 - 100, 200, 100}));
  EXPECT_EQ(moved(box, 5000, 5000, drag_surface), (PictureRectangle{784, 584, 200, 100}));
  EXPECT_EQ(moved({1000, 0, 10, 10}, 0, 0, drag_surface), (PictureRectangle{1000, 0, 10, 10})) << "as a file has it";
  EXPECT_EQ(moved(box, 7, 9, {1, 1}).width, 200) << "a surface that is smaller than the limit";
}

TEST(DraggedBox, HasLimitsOfItsSides) {
  const PictureRectangle box{100, 100, 200, 100};
  EXPECT_EQ(resized(box, {1, 0}, -5000, 0, false, drag_surface), (PictureRectangle{100, 100, 16, 100}));
  EXPECT_EQ(resized(box, {1, 1}, -5000, -5000, false, drag_surface), (PictureRectangle{100, 100, 32, 16}));
  EXPECT_EQ(resized(box, {1, 0}, 5000, 0, false, drag_surface), (PictureRectangle{100, 100, 1600, 100}));
  EXPECT_EQ(resized({0, 0, 8, 8}, {1, 0}, -100, 0, false, drag_surface), (PictureRectangle{0, 0, 8, 8}));
}

TEST(DraggedBox, KeepsItsAspectAndTheOppositeSide) {
  std::mt19937 numbers(3);
  std::uniform_int_distribution<int> way(-700, 700);
  const PictureRectangle box{200, 150, 320, 180};
  for (const int x : {-1, 0, 1}) {
    for (const int y : {-1, 0, 1}) {
      for (int i = 0; i < 200 && (x != 0 || y != 0); ++i) {
        const PictureRectangle now = resized(box, {x, y}, way(numbers), way(numbers), true, drag_surface);
        ASSERT_NEAR(now.width * 180.0 / 320, now.height, 0.5 + 1e-9);
        if (now.x + now.width > 16 && now.y + now.height > 16 && now.x < 784 && now.y < 584) {
          const int kept = x < 0 ? now.x + now.width : x > 0 ? now.x : now.x + now.width / 2;
          ASSERT_NEAR(kept, x < 0 ? 520 : x > 0 ? 200 : 360, x == 0 ? 1 : 0) << "no limit has moved it";
        }
      }
    }
  }
}

}  // namespace
}  // namespace framewire
