#include "viewer/layout.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

namespace framewire {
namespace {

constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();
constexpr double infinite = std::numeric_limits<double>::infinity();
constexpr Rational square_pixels{1, 1};

Scene scene_of(Layout layout, std::size_t count) {
  Scene scene;
  scene.layout = layout;
  scene.layers.resize(count);
  return scene;
}

std::vector<PictureRectangle> boxes_of(Layout layout, std::size_t count, Size surface) {
  return lay_out(scene_of(layout, count), surface);
}

bool overlap(const PictureRectangle& one, const PictureRectangle& other) {
  return one.x < other.x + other.width && other.x < one.x + one.width && one.y < other.y + other.height &&
         other.y < one.y + one.height;
}

void expect_apart(const std::vector<PictureRectangle>& boxes) {
  for (std::size_t i = 0; i < boxes.size(); ++i) {
    for (std::size_t j = i + 1; j < boxes.size(); ++j) {
      EXPECT_FALSE(overlap(boxes[i], boxes[j])) << i << " and " << j << " of " << boxes.size();
    }
  }
}

void expect_inside(const std::vector<PictureRectangle>& boxes, Size surface) {
  for (const PictureRectangle& box : boxes) {
    EXPECT_GE(box.x, 0);
    EXPECT_GE(box.y, 0);
    EXPECT_LE(box.x + box.width, static_cast<int>(surface.width));
    EXPECT_LE(box.y + box.height, static_cast<int>(surface.height));
  }
}

TEST(Layout, AGridHasTheRootOfTheNumberAsColumns) {
  const std::map<std::size_t, int> columns = {{1, 1}, {2, 2},  {3, 2},  {4, 2}, {5, 3},
                                              {9, 3}, {10, 4}, {16, 4}, {64, 8}};
  for (const Size surface : {Size{1920, 1080}, Size{1366, 768}, Size{1360, 768}, Size{1920, 1200}}) {
    for (const auto& [count, expected] : columns) {
      const auto boxes = boxes_of(Layout::grid, count, surface);
      EXPECT_EQ(std::count_if(boxes.begin(), boxes.end(), [](const auto& box) { return box.y == 0; }), expected)
          << count << " on " << surface.width << "x" << surface.height;
    }
  }
}

TEST(Layout, AGridMakesPicturesLargeOnWideAndHighSurfaces) {
  EXPECT_EQ(boxes_of(Layout::grid, 3, {3840, 1080}),
            (std::vector<PictureRectangle>{{0, 0, 1280, 1080}, {1280, 0, 1280, 1080}, {2560, 0, 1280, 1080}}));
  EXPECT_EQ(boxes_of(Layout::grid, 2, {1080, 1920}),
            (std::vector<PictureRectangle>{{0, 0, 1080, 960}, {0, 960, 1080, 960}}));
  EXPECT_EQ(boxes_of(Layout::grid, 2, {1024, 768}),
            (std::vector<PictureRectangle>{{0, 0, 1024, 384}, {0, 384, 1024, 384}}));
}

TEST(Layout, AGridCentresItsLastRow) {
  EXPECT_EQ(boxes_of(Layout::grid, 3, {1920, 1080}),
            (std::vector<PictureRectangle>{{0, 0, 960, 540}, {960, 0, 960, 540}, {480, 540, 960, 540}}));
}

TEST(Layout, AGridTilesItsSurface) {
  for (const Size surface :
       {Size{1921, 1079}, Size{7, 5}, Size{1367, 769}, Size{333, 2001}, Size{64, 64}, Size{1, 1}}) {
    for (std::size_t count = 1; count <= max_scene_layers; ++count) {
      const auto boxes = boxes_of(Layout::grid, count, surface);
      ASSERT_EQ(boxes.size(), count);
      expect_apart(boxes);
      expect_inside(boxes, surface);
      std::map<int, std::vector<PictureRectangle>> rows;
      for (const PictureRectangle& box : boxes) {
        if (!is_empty(box)) {
          rows[box.y].push_back(box);
        }
      }
      int bottom = 0;
      for (const auto& [y, row] : rows) {
        EXPECT_EQ(y, bottom) << "rows have no gap";
        bottom = y + row.front().height;
        const bool is_last = y == rows.rbegin()->first;
        int right = is_last ? row.front().x : 0;
        for (const PictureRectangle& box : row) {
          EXPECT_EQ(box.x, right) << "cells have no gap";
          EXPECT_EQ(box.y + box.height, bottom);
          EXPECT_LE(std::abs(box.width - row.front().width), 1);
          right = box.x + box.width;
        }
        const int rest = static_cast<int>(surface.width) - right;
        EXPECT_LE(std::abs(rest - (is_last ? row.front().x : 0)), is_last ? 1 : 0) << count;
      }
      EXPECT_EQ(bottom, static_cast<int>(surface.height));
    }
  }
}

TEST(Layout, SideHasColumns) {
  EXPECT_EQ(boxes_of(Layout::side, 3, {100, 50}),
            (std::vector<PictureRectangle>{{0, 0, 33, 50}, {33, 0, 34, 50}, {67, 0, 33, 50}}));
  for (std::size_t count = 1; count <= max_scene_layers; ++count) {
    int right = 0;
    for (const PictureRectangle& box : boxes_of(Layout::side, count, {1921, 1079})) {
      EXPECT_EQ(box, (PictureRectangle{right, 0, box.width, 1079}));
      right += box.width;
    }
    EXPECT_EQ(right, 1921);
  }
}

TEST(Layout, StereoShowsTwoLayers) {
  EXPECT_EQ(boxes_of(Layout::stereo_side, 4, {1921, 1080}),
            (std::vector<PictureRectangle>{{0, 0, 961, 1080}, {961, 0, 960, 1080}, {}, {}}));
  EXPECT_EQ(boxes_of(Layout::stereo_top, 3, {1920, 1081}),
            (std::vector<PictureRectangle>{{0, 0, 1920, 541}, {0, 541, 1920, 540}, {}}));
  EXPECT_EQ(boxes_of(Layout::stereo_side, 1, {100, 50}), (std::vector<PictureRectangle>{{0, 0, 50, 50}}));
}

TEST(Layout, AnEyeKeepsItsHalfWhenTheOtherIsHidden) {
  Scene scene = scene_of(Layout::stereo_side, 3);
  scene.layers[0].is_hidden = true;
  EXPECT_EQ(lay_out(scene, {100, 50}), (std::vector<PictureRectangle>{{}, {50, 0, 50, 50}, {}}));
}

TEST(Layout, PipStacksSmallPicturesFromTheLowerRightCorner) {
  EXPECT_EQ(boxes_of(Layout::pip, 5, {1600, 800}), (std::vector<PictureRectangle>{{0, 0, 1600, 800},
                                                                                  {1180, 580, 400, 200},
                                                                                  {1180, 360, 400, 200},
                                                                                  {1180, 140, 400, 200},
                                                                                  {760, 580, 400, 200}}));
}

TEST(Layout, PipMakesPicturesSmallerWhenTheyAreMany) {
  for (const Size surface : {Size{1920, 1080}, Size{1080, 1920}, Size{3440, 1440}}) {
    for (std::size_t count = 1; count <= max_scene_layers; ++count) {
      auto boxes = boxes_of(Layout::pip, count, surface);
      EXPECT_EQ(boxes.front(), whole_of(surface));
      boxes.erase(boxes.begin());
      expect_apart(boxes);
      expect_inside(boxes, surface);
      EXPECT_TRUE(std::none_of(boxes.begin(), boxes.end(), [](const PictureRectangle& box) { return is_empty(box); }));
    }
  }
}

TEST(Layout, PipKeepsTheRoleOfTheLargePictureAndClosesGapsBetweenSmallOnes) {
  Scene scene = scene_of(Layout::pip, 4);
  scene.layers[0].is_hidden = true;
  scene.layers[2].is_hidden = true;
  EXPECT_EQ(lay_out(scene, {1600, 800}),
            (std::vector<PictureRectangle>{{}, {1180, 580, 400, 200}, {}, {1180, 360, 400, 200}}));
}

TEST(Layout, OverlayPutsAllIntoOnePlace) {
  const PictureRectangle whole{0, 0, 640, 360};
  EXPECT_EQ(boxes_of(Layout::overlay, 3, {640, 360}), (std::vector<PictureRectangle>{whole, whole, whole}));
}

TEST(Layout, DepthHasTheWholeCanvasForAllAndHidesNone) {
  Scene scene = scene_of(Layout::depth, 3);
  scene.canvas = Size{160, 90};
  scene.layers[0].is_hidden = true;
  scene.layers[2].is_hidden = true;
  const PictureRectangle whole{0, 60, 640, 360};
  EXPECT_EQ(lay_out(scene, {640, 480}), (std::vector<PictureRectangle>{whole, whole, whole}));
}

TEST(Layout, FreeTakesTheBoxesOfTheLayers) {
  Scene scene = scene_of(Layout::free, 3);
  scene.layers[0].box = Box{10, 20, 30, 40};
  scene.layers[1].box = Box{-5.5, -6, 1e3, 7};
  EXPECT_EQ(lay_out(scene, {640, 360}),
            (std::vector<PictureRectangle>{{10, 20, 30, 40}, {-5, -6, 1000, 7}, {0, 0, 640, 360}}));
}

TEST(Layout, BoxesThatShareAnEdgeLeaveNoGapWhateverTheScale) {
  for (std::uint32_t width = 90; width < 500; width += 7) {
    Scene scene = scene_of(Layout::free, 20);
    scene.canvas = Size{200, 100};
    for (std::size_t i = 0; i < scene.layers.size(); ++i) {
      scene.layers[i].box = Box{0.1 + 9.7 * static_cast<double>(i), 0, 9.7, 100};
    }
    const auto boxes = lay_out(scene, {width, 1000});
    for (std::size_t i = 1; i < boxes.size(); ++i) {
      EXPECT_EQ(boxes[i].x, boxes[i - 1].x + boxes[i - 1].width);
    }
  }
}

TEST(Layout, HiddenLayersLeaveNoRoom) {
  Scene scene = scene_of(Layout::grid, 5);
  scene.layers[0].is_hidden = true;
  scene.layers[3].is_hidden = true;
  const auto three = boxes_of(Layout::grid, 3, {1920, 1080});
  EXPECT_EQ(lay_out(scene, {1920, 1080}), (std::vector<PictureRectangle>{{}, three[0], three[1], {}, three[2]}));
  scene.layout = Layout::side;
  const auto columns = boxes_of(Layout::side, 3, {1920, 1080});
  EXPECT_EQ(lay_out(scene, {1920, 1080}), (std::vector<PictureRectangle>{{}, columns[0], columns[1], {}, columns[2]}));
  for (SceneLayer& layer : scene.layers) {
    layer.is_hidden = true;
  }
  for (const Layout layout : {Layout::grid, Layout::side, Layout::pip, Layout::stereo_side, Layout::free}) {
    scene.layout = layout;
    EXPECT_EQ(lay_out(scene, {1920, 1080}), std::vector<PictureRectangle>(5));
  }
}

TEST(Layout, ACanvasIsShownUndistortedInTheMiddle) {
  Scene scene = scene_of(Layout::grid, 1);
  scene.canvas = Size{1920, 1080};
  EXPECT_EQ(lay_out(scene, {1024, 768}), (std::vector<PictureRectangle>{{0, 96, 1024, 576}}));
  EXPECT_EQ(lay_out(scene, {3840, 1080}), (std::vector<PictureRectangle>{{960, 0, 1920, 1080}}));
  scene.canvas = Size{0, 1080};
  EXPECT_EQ(lay_out(scene, {1024, 768}), (std::vector<PictureRectangle>{{0, 0, 1024, 768}})) << "no canvas";
}

TEST(Layout, AWallShowsThePartOfEachScreen) {
  Scene scene = scene_of(Layout::overlay, 1);
  scene.wall = Wall{.columns = 3, .rows = 2, .column = 1, .row = 1, .bezel = {40, 30}};
  EXPECT_EQ(lay_out(scene, {1000, 500}), (std::vector<PictureRectangle>{{-1040, -530, 3080, 1030}}));
  scene.canvas = Size{308, 206};
  EXPECT_EQ(lay_out(scene, {1000, 500}), (std::vector<PictureRectangle>{{-270, -530, 1540, 1030}}))
      << "twice as wide as high would be, so that it is in the middle";
}

TEST(Layout, TheScreensOfAWallShowOneCanvas) {
  const Size surface{641, 359};
  for (const auto& canvas : {std::optional<Size>(), std::optional(Size{1920, 1080}), std::optional(Size{333, 1000})}) {
    Scene scene = scene_of(Layout::grid, 7);
    scene.canvas = canvas;
    const auto whole = lay_out(scene, {3 * surface.width + 2 * 13, 2 * surface.height + 9});
    scene.wall = Wall{.columns = 3, .rows = 2, .bezel = {13, 9}};
    for (std::uint32_t column = 0; column < 3; ++column) {
      for (std::uint32_t row = 0; row < 2; ++row) {
        scene.wall->column = column;
        scene.wall->row = row;
        auto part = lay_out(scene, surface);
        for (PictureRectangle& box : part) {
          box.x += static_cast<int>(column * (surface.width + 13));
          box.y += static_cast<int>(row * (surface.height + 9));
        }
        EXPECT_EQ(part, whole) << column << "," << row;
      }
    }
  }
}

TEST(Layout, AScreenThatIsNotInTheWallCountsAsTheLast) {
  Scene scene = scene_of(Layout::overlay, 1);
  scene.wall = Wall{.columns = 0, .rows = 2, .column = 7, .row = 9};
  EXPECT_EQ(lay_out(scene, {100, 50}), (std::vector<PictureRectangle>{{0, -50, 100, 100}}));
}

TEST(Layout, StandsValuesWithoutMeaning) {
  constexpr int farthest = 1 << 24;
  Scene scene = scene_of(Layout::free, 8);
  scene.layers[0].box = Box{not_a_number, 0, 10, 10};
  scene.layers[1].box = Box{0, 0, 10, not_a_number};
  scene.layers[2].box = Box{0, 0, -10, 10};
  scene.layers[3].box = Box{-infinite, 0, infinite, 10};
  scene.layers[4].box = Box{0, 0, infinite, 10};
  scene.layers[5].box = Box{-1e300, 1, 2e300, 1};
  scene.layers[6].box = Box{1e300, 1e300, 10, 10};
  scene.layers[7].box = Box{0, 0, 0.2, 10};
  EXPECT_EQ(
      lay_out(scene, {640, 360}),
      (std::vector<PictureRectangle>{{}, {}, {}, {}, {0, 0, farthest, 10}, {-farthest, 1, 2 * farthest, 1}, {}, {}}));
  constexpr std::uint32_t most = std::numeric_limits<std::uint32_t>::max();
  scene.wall = Wall{.columns = most, .rows = most, .column = most, .row = most, .bezel = {most, most}};
  scene.canvas = Size{most, 1};
  EXPECT_EQ(lay_out(scene, {most, most}).size(), 8U);
  for (const Layout layout : {Layout::grid, Layout::side, Layout::pip, Layout::overlay, Layout::stereo_top}) {
    scene.layout = layout;
    EXPECT_EQ(lay_out(scene, {1, most}).size(), 8U);
  }
}

TEST(Layout, IsEmptyWithoutSurfaceOrLayers) {
  EXPECT_EQ(boxes_of(Layout::grid, 2, {0, 100}), std::vector<PictureRectangle>(2));
  EXPECT_EQ(boxes_of(Layout::pip, 0, {100, 100}), std::vector<PictureRectangle>());
}

SceneLayer layer_with(Fit fit, std::optional<Box> crop = std::nullopt) {
  SceneLayer layer;
  layer.fit = fit;
  layer.crop = crop;
  return layer;
}

PicturePlace placed(const SceneLayer& layer, Size frame, const PictureRectangle& box, Layout layout = Layout::grid) {
  return place(layer, layout, frame, square_pixels, box);
}

TEST(Place, ContainsAsFitDoes) {
  for (const Rational aspect : {square_pixels, Rational{64, 45}, Rational{1, 2}, Rational{0, 1}, Rational{1, 0}}) {
    for (std::uint32_t width = 1; width < 2000; width += 37) {
      for (const std::uint32_t height : {1U, 2U, 359U, 1080U, 32768U}) {
        const PictureRectangle fitted = fit({width, height}, aspect, {641, 359});
        EXPECT_EQ(place({}, Layout::grid, {width, height}, aspect, {0, 0, 641, 359}), (PicturePlace{fitted, fitted}));
      }
    }
  }
}

TEST(Place, ContainsInABoxAnywhere) {
  const PictureRectangle at{-40, 120, 100, 75};
  EXPECT_EQ(placed({}, {640, 480}, {-100, 120, 220, 75}), (PicturePlace{at, at}));
}

TEST(Place, CoversTheBox) {
  const PictureRectangle box{10, 20, 100, 100};
  EXPECT_EQ(placed(layer_with(Fit::cover), {200, 100}, box), (PicturePlace{{-40, 20, 200, 100}, box}));
  EXPECT_EQ(placed(layer_with(Fit::cover), {100, 300}, box), (PicturePlace{{10, -80, 100, 300}, box}));
  for (std::uint32_t width = 1; width < 300; width += 3) {
    const PicturePlace at = placed(layer_with(Fit::cover), {width, 97}, {3, 5, 101, 67});
    EXPECT_EQ(at.visible, (PictureRectangle{3, 5, 101, 67}));
  }
}

TEST(Place, FillsTheBox) {
  const PictureRectangle box{10, 20, 100, 100};
  EXPECT_EQ(placed(layer_with(Fit::fill), {200, 100}, box), (PicturePlace{box, box}));
}

TEST(Place, ShowsTheCrop) {
  const PictureRectangle box{0, 0, 400, 200};
  EXPECT_EQ(placed(layer_with(Fit::contain, Box{20, 10, 40, 20}), {100, 50}, box),
            (PicturePlace{{-200, -100, 1000, 500}, box}));
  EXPECT_EQ(placed(layer_with(Fit::contain, Box{0, 0, 10, 10}), {100, 50}, box),
            (PicturePlace{{100, 0, 2000, 1000}, {100, 0, 200, 200}}));
  EXPECT_EQ(placed(layer_with(Fit::contain, Box{90, 0, 40, 10}), {100, 50}, box),
            placed(layer_with(Fit::contain, Box{90, 0, 10, 10}), {100, 50}, box))
      << "what is outside the frame is left out";
  EXPECT_EQ(placed(layer_with(Fit::cover, Box{0, 0, 10, 20}), {100, 50}, box),
            (PicturePlace{{0, -300, 4000, 2000}, box}));
  EXPECT_EQ(placed(layer_with(Fit::fill, Box{50, 0, 50, 50}), {100, 50}, box),
            (PicturePlace{{-400, 0, 800, 200}, box}));
}

TEST(Place, SqueezesForStereo) {
  const PictureRectangle half{0, 0, 960, 1080};
  EXPECT_EQ(placed({}, {1920, 1080}, half, Layout::stereo_side), (PicturePlace{half, half}));
  const PictureRectangle between{120, 0, 720, 1080};
  EXPECT_EQ(placed({}, {640, 480}, half, Layout::stereo_side), (PicturePlace{between, between}));
  const PictureRectangle upper{0, 0, 1920, 540};
  EXPECT_EQ(placed({}, {1920, 1080}, upper, Layout::stereo_top), (PicturePlace{upper, upper}));
}

TEST(Place, IsEmptyWhenThereIsNothingToShow) {
  const PictureRectangle box{0, 0, 400, 200};
  EXPECT_EQ(placed({}, {0, 50}, box), PicturePlace{});
  EXPECT_EQ(placed({}, {100, 50}, {0, 0, 0, 200}), PicturePlace{});
  EXPECT_EQ(placed({}, {100, 50}, {0, 0, 10, -1}), PicturePlace{});
  for (const Box& crop : {Box{0, 0, 0, 10}, Box{100, 0, 10, 10}, Box{0, -20, 10, 10}, Box{0, 0, -5, 5},
                          Box{not_a_number, 0, 10, 10}, Box{0, 0, 10, not_a_number}, Box{-infinite, 0, infinite, 1}}) {
    EXPECT_EQ(placed(layer_with(Fit::contain, crop), {100, 50}, box), PicturePlace{}) << crop.x << " " << crop.width;
  }
}

TEST(Place, StaysWithinItsBoxAtTheEndsOfTheRange) {
  constexpr int far = 1 << 24;
  for (const PictureRectangle& box : {PictureRectangle{-far, -far, 2 * far, 1},
                                      PictureRectangle{far - 1, 0, 1, 2 * far}, PictureRectangle{0, 0, 1, 1}}) {
    for (const Fit fit : {Fit::contain, Fit::cover, Fit::fill}) {
      for (const double crop : {1e-300, 0.5, 32768.0, infinite}) {
        const PicturePlace at =
            place(layer_with(fit, Box{0, 0, crop, 1}), Layout::stereo_side, {32768, 1}, {0xffffffff, 1}, box);
        EXPECT_GE(at.visible.x, box.x);
        EXPECT_GE(at.visible.y, box.y);
        EXPECT_LE(at.visible.x + at.visible.width, box.x + box.width);
        EXPECT_LE(at.visible.y + at.visible.height, box.y + box.height);
        EXPECT_GE(at.picture.width, 0);
        EXPECT_GE(at.picture.height, 0);
      }
    }
  }
}

}  // namespace
}  // namespace framewire
