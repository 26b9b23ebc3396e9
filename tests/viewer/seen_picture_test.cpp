#include "viewer/seen_picture.hpp"

#include <gtest/gtest.h>

namespace framewire {
namespace {

/// A frame of 1920x1080 as place() puts it into a box.
SeenPicture seen(const SceneLayer& layer, const PictureRectangle& box, Layout layout = Layout::free,
                 Size frame = {1920, 1080}) {
  return {.at = place(layer, layout, frame, {1, 1}, box), .frame = frame};
}

void expect_at(const SeenPicture& picture, double x, double y, FramePosition wanted) {
  const FramePosition at = position_in_frame(picture, x, y);
  EXPECT_NEAR(at.x, wanted.x, 1e-9) << x << "," << y;
  EXPECT_NEAR(at.y, wanted.y, 1e-9) << x << "," << y;
}

TEST(SeenPicture, CountsInPixelsOfAFittedFrame) {
  const SeenPicture picture = seen({}, {0, 0, 960, 600});  // 960x540, 30 pixels below the top
  expect_at(picture, 0, 30, {0, 0});
  expect_at(picture, 480, 300, {960, 540});
  expect_at(picture, 960, 570, {1920, 1080});
  expect_at(picture, -10, 0, {-20, -60});
}

TEST(SeenPicture, CountsInPixelsOfAFrameThatCoversItsBox) {
  const SeenPicture picture = seen({.fit = Fit::cover}, {100, 100, 540, 540});  // 960x540: 210 are cut at the left
  expect_at(picture, 100, 100, {420, 0});
  expect_at(picture, 370, 370, {960, 540});
  EXPECT_EQ(picture.at.visible, (PictureRectangle{100, 100, 540, 540}));
}

TEST(SeenPicture, CountsInPixelsOfADistortedFrame) {
  const SeenPicture picture = seen({.fit = Fit::fill}, {0, 0, 192, 540});
  expect_at(picture, 96, 270, {960, 540});
  EXPECT_EQ(way_in_frame(picture, 1, 1), (FramePosition{10, 2}));
}

TEST(SeenPicture, CountsFromTheFramesCornerWhereItIsCropped) {
  const SeenPicture picture = seen({.crop = Box{480, 270, 960, 540}}, {0, 0, 480, 270});
  expect_at(picture, 0, 0, {480, 270});
  expect_at(picture, 480, 270, {1440, 810});
}

TEST(SeenPicture, CountsPixelByPixelWherePanned) {
  const SeenPicture middle = seen({.one_to_one = Pan{}}, {0, 0, 640, 360});
  expect_at(middle, 0, 0, {640, 360});
  const SeenPicture panned = seen({.one_to_one = Pan{100, -20}}, {0, 0, 640, 360});
  expect_at(panned, 0, 0, {540, 380});
  EXPECT_EQ(way_in_frame(panned, 3, -4), (FramePosition{3, -4}));
}

TEST(SeenPicture, CountsInTheWholeFrameOfASqueezedOne) {
  const SeenPicture picture = seen({}, {0, 0, 480, 540}, Layout::stereo_side);
  expect_at(picture, 240, 270, {960, 540});
}

TEST(SeenPictures, AreHitFromTheFront) {
  SeenPictures pictures = {seen({}, {0, 0, 640, 360}), seen({}, {320, 180, 320, 180})};
  EXPECT_EQ(picture_at(pictures, 10, 10), 0U);
  EXPECT_EQ(picture_at(pictures, 320, 180), 1U);
  EXPECT_EQ(picture_at(pictures, 639.9, 359.9), 1U);
  EXPECT_EQ(picture_at(pictures, 640, 100), std::nullopt);
  EXPECT_EQ(picture_at(pictures, -0.1, 100), std::nullopt);
  EXPECT_EQ(picture_at({}, 0, 0), std::nullopt);
}

}  // namespace
}  // namespace framewire
