#include "viewer/fit.hpp"

#include <gtest/gtest.h>

namespace framewire {
namespace {

constexpr Rational square{1, 1};

TEST(Fit, FillsASurfaceOfTheSameShape) {
  EXPECT_EQ(fit({3840, 2160}, square, {960, 540}), (PictureRectangle{0, 0, 960, 540}));
  EXPECT_EQ(fit({960, 540}, square, {3840, 2160}), (PictureRectangle{0, 0, 3840, 2160}));
}

TEST(Fit, LeavesBarsBesideANarrowPicture) {
  EXPECT_EQ(fit({640, 480}, square, {1920, 1080}), (PictureRectangle{240, 0, 1440, 1080}));
}

TEST(Fit, LeavesBarsAboveAndBelowAWidePicture) {
  EXPECT_EQ(fit({1920, 1080}, square, {1024, 768}), (PictureRectangle{0, 96, 1024, 576}));
}

TEST(Fit, StretchesByTheSampleAspect) {
  // PAL widescreen: 720x576 with pixels of 64:45 is shown as 1024x576.
  EXPECT_EQ(fit({720, 576}, {64, 45}, {1024, 576}), (PictureRectangle{0, 0, 1024, 576}));
  EXPECT_EQ(fit({720, 576}, {64, 45}, {1024, 768}), (PictureRectangle{0, 96, 1024, 576}));
  EXPECT_EQ(fit({100, 100}, {1, 2}, {200, 200}), (PictureRectangle{50, 0, 100, 200}));
}

TEST(Fit, RoundsToTheNearestPixel) {
  EXPECT_EQ(fit({3, 2}, square, {100, 100}), (PictureRectangle{0, 16, 100, 67}));
}

TEST(Fit, TakesAnAspectWithoutMeaningAsSquare) {
  EXPECT_EQ(fit({640, 480}, {0, 1}, {640, 480}), (PictureRectangle{0, 0, 640, 480}));
  EXPECT_EQ(fit({640, 480}, {1, 0}, {640, 480}), (PictureRectangle{0, 0, 640, 480}));
}

TEST(Fit, ShowsAtLeastOnePixelAtTheEndsOfTheRange) {
  EXPECT_EQ(fit({32768, 1}, {0xffffffff, 1}, {32768, 32768}), (PictureRectangle{0, 16383, 32768, 1}));
  EXPECT_EQ(fit({1, 32768}, {1, 0xffffffff}, {32768, 32768}), (PictureRectangle{16383, 0, 1, 32768}));
}

TEST(Fit, IsEmptyWhenThereIsNothingToFit) {
  EXPECT_EQ(fit({0, 480}, square, {640, 480}), PictureRectangle{});
  EXPECT_EQ(fit({640, 480}, square, {640, 0}), PictureRectangle{});
}

TEST(Fit, NeverLeavesTheSurface) {
  for (std::uint32_t width = 1; width < 70; width += 3) {
    for (std::uint32_t height = 1; height < 70; height += 7) {
      const PictureRectangle at = fit({width, height}, {16, 15}, {64, 48});
      EXPECT_GE(at.x, 0);
      EXPECT_GE(at.y, 0);
      EXPECT_GE(at.width, 1);
      EXPECT_GE(at.height, 1);
      EXPECT_LE(at.x + at.width, 64);
      EXPECT_LE(at.y + at.height, 48);
      EXPECT_TRUE(at.width == 64 || at.height == 48) << width << "x" << height;
    }
  }
}

TEST(PictureRectangle, HasWhatTwoHaveInCommon) {
  const PictureRectangle one{10, 20, 30, 40};
  EXPECT_EQ(common_part(one, {0, 0, 100, 100}), one);
  EXPECT_EQ(common_part(one, {-5, 30, 20, 100}), (PictureRectangle{10, 30, 5, 30}));
  EXPECT_EQ(common_part(one, {40, 20, 5, 5}), PictureRectangle{}) << "they touch";
  EXPECT_EQ(common_part(one, {200, 200, 5, 5}), PictureRectangle{});
  EXPECT_FALSE(is_empty(one));
  EXPECT_TRUE(is_empty(PictureRectangle{10, 20, 30, 0}));
}

TEST(PictureRectangle, IsCountedFromBelowInOpenGl) {
  EXPECT_EQ(gl_rectangle({10, 20, 30, 40}, {200, 100}), (Rectangle{10, 40, 30, 40}));
  EXPECT_EQ(gl_rectangle(whole_of({200, 100}), {200, 100}), (Rectangle{0, 0, 200, 100}));
  EXPECT_EQ(gl_rectangle({-5, 90, 10, 20}, {200, 100}), (Rectangle{-5, -10, 10, 20}));
}

}  // namespace
}  // namespace framewire
