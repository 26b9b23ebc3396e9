// Keys, pictures that are shown pixel by pixel, and whatever else a user may do.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include "tests/viewer/edited_scene.hpp"
#include "viewer/scene_editor.hpp"

namespace framewire {
namespace {

// ---- Properties ----

/// What holds whatever a user does.
class AnyInput : public SceneEditorTest {
 protected:
  void expect_sound() const {
    for (const SceneLayer& layer : editor_.scene().layers) {
      if (layer.box) {
        for (const double value : {layer.box->x, layer.box->y, layer.box->width, layer.box->height}) {
          ASSERT_TRUE(std::isfinite(value));
        }
      }
    }
    if (editor_.scene().layout == Layout::free) {
      for (std::size_t i = 0; i < editor_.scene().layers.size(); ++i) {
        const PictureRectangle box = outline_of(editor_.scene(), i, {}, surface_);
        ASSERT_GE(std::min(box.width, box.height), smallest_box_side);
        ASSERT_GE(std::min(box.x + box.width, box.y + box.height), smallest_box_side);
        ASSERT_LE(box.x + smallest_box_side, static_cast<int>(surface_.width));
        ASSERT_LE(box.y + smallest_box_side, static_cast<int>(surface_.height));
        ASSERT_LE(box.width, 2 * static_cast<int>(surface_.width));
        ASSERT_LE(box.height, 2 * static_cast<int>(surface_.height));
      }
    }
    ASSERT_LT(editor_.selection().layer, editor_.scene().layers.size());
    std::vector<std::size_t> order = editor_.order();
    std::ranges::sort(order);
    for (std::size_t i = 0; i < order.size(); ++i) {
      ASSERT_EQ(order[i], i);
      ASSERT_EQ(editor_.scene().layers[i].source, given_.layers[editor_.order()[i]].source);
    }
  }

  double random(double from, double to) { return std::uniform_real_distribution(from, to)(numbers_); }
  std::size_t choice(std::size_t count) { return std::uniform_int_distribution<std::size_t>(0, count - 1)(numbers_); }

  std::mt19937 numbers_{7};
};

TEST_F(AnyInput, LeavesEveryBoxOnTheSurface) {
  for (const Layout layout : {Layout::grid, Layout::side, Layout::stereo_side, Layout::pip, Layout::overlay}) {
    begin(layout, 1 + choice(6));
    for (int i = 0; i < 2000; ++i) {
      const double x = random(-400, 1700), y = random(-400, 1100);
      switch (choice(4)) {
        case 0:
          press(x, y, choice(4) == 0 ? PointerButton::right : PointerButton::left);
          break;
        case 1:
          release(choice(4) == 0 ? PointerButton::right : PointerButton::left);
          break;
        case 2:
          move(x, y);
          break;
        default:
          key(static_cast<SceneKey>(choice(11)), choice(2) == 0);
          break;
      }
      expect_sound();
    }
  }
}

TEST_F(AnyInput, ADragAndItsWayBackRestoreWhatIsSeen) {
  for (int i = 0; i < 300; ++i) {
    begin(choice(2) == 0 ? Layout::grid : Layout::pip, 4);
    given_.canvas = choice(2) == 0 ? std::optional(Size{1000, 777}) : std::nullopt;
    begin(given_);
    key(SceneKey::select);
    const PictureRectangle at = visible(0);
    const bool at_corner = choice(2) == 0;
    const double x = at_corner ? at.x + at.width : at.x + at.width / 2.0;
    const double y = at.y + (at_corner ? at.height : at.height / 2.0);
    const std::vector<PictureRectangle> before = {visible(0), visible(1), visible(2), visible(3)};
    press(x, y);
    move(x + random(-2000, 2000), y + random(-2000, 2000));
    move(x, y);
    release();
    for (std::size_t layer = 0; layer < before.size(); ++layer) {
      ASSERT_EQ(visible(layer), before[layer]) << layer << " in " << i;
    }
  }
}

TEST_F(AnyInput, TwoDragsOneBackRestoreABoxBetweenPixels) {
  Scene scene{.layout = Layout::free, .canvas = Size{1000, 700}, .layers = {{.source = "a"}, {.source = "b"}}};
  scene.layers[1].box = Box{100.3, 100.7, 333.3, 222.2};
  begin(scene);
  const double x = visible(1).x + 50.0, y = visible(1).y + 50.0;
  press(x, y);
  move(x + 80, y + 20);
  move(x, y);
  release();
  EXPECT_EQ(editor_.scene().layers[1].box, scene.layers[1].box);
}

TEST_F(AnyInput, IsIgnoredIfItIsNowhere) {
  begin(Layout::grid, 2);
  click(10, 300);
  press(10, 300);
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const double infinite = std::numeric_limits<double>::infinity();
  for (const double value : {nan, infinite, -infinite, 1e300}) {
    EXPECT_FALSE(move(value, 300));
    EXPECT_FALSE(move(10, value));
  }
  EXPECT_EQ(editor_.scene(), given_);
  surface_ = {0, 720};
  EXPECT_FALSE(move(500, 500));
  begin(Scene{});
  EXPECT_FALSE(key(SceneKey::select));
}

// ---- Hiding, order, layouts ----

TEST_F(SceneEditorTest, AHiddenLayerStaysSelectedAndComesBack) {
  begin(Layout::grid, 2);
  const auto before = boxes();
  click(10, 360);
  EXPECT_TRUE(key(SceneKey::hide));
  EXPECT_TRUE(editor_.scene().layers[0].is_hidden);
  EXPECT_EQ(selected(), "stream0");
  EXPECT_EQ(outline_of(editor_.scene(), 0, pictures_[0], surface_), (PictureRectangle{0, 180, 640, 360}))
      << "where it will be";
  EXPECT_TRUE(key(SceneKey::hide));
  EXPECT_EQ(boxes(), before);
}

TEST_F(SceneEditorTest, AHiddenLayerOfAnArrangedSceneKeepsItsPlace) {
  begin(Layout::grid, 4);
  click(100, 100);
  key(SceneKey::hide);
  drag(640, 600, 5, 5);  // another one
  EXPECT_EQ(selected(), "stream3");
  key(SceneKey::select);
  key(SceneKey::hide);
  EXPECT_EQ(visible(0), (PictureRectangle{0, 0, 640, 360}));
}

TEST_F(SceneEditorTest, LayersGoToTheFrontAndToTheBack) {
  begin(Layout::overlay, 3);
  key(SceneKey::select);
  EXPECT_TRUE(key(SceneKey::to_front));
  EXPECT_EQ(editor_.order(), (std::vector<std::size_t>{1, 2, 0}));
  EXPECT_EQ(editor_.selection().layer, 2U);
  click(640, 360);
  EXPECT_EQ(selected(), "stream0");
  EXPECT_TRUE(key(SceneKey::to_back));
  EXPECT_EQ(editor_.order(), (std::vector<std::size_t>{0, 1, 2}));
}

TEST_F(SceneEditorTest, WithoutASelectionThePanelIsAboutTheFirstStream) {
  begin(Layout::overlay, 3);
  key(SceneKey::select);
  key(SceneKey::to_front);
  now_ns_ += SceneEditor::frame_ns;
  editor_.pass_time(now_ns_);
  EXPECT_EQ(editor_.selection().layer, 2U);
  surface_ = {2000, 720};  // bars at the left and right
  click(10, 10);
  EXPECT_EQ(editor_.selection(), (Selection{.layer = 2, .is_outlined = false}));
}

TEST_F(SceneEditorTest, LayoutsFollowOneAnother) {
  begin(Layout::stereo_top, 2);
  for (const Layout layout : {Layout::grid, Layout::side, Layout::pip, Layout::overlay, Layout::grid}) {
    EXPECT_TRUE(key(SceneKey::next_layout));
    EXPECT_EQ(editor_.scene().layout, layout);
  }
  drag(100, 360, 10, 10);
  key(SceneKey::next_layout);
  EXPECT_EQ(editor_.scene().layout, Layout::grid);
  EXPECT_EQ(editor_.scene().canvas, std::nullopt) << "it fills every surface again";
}

TEST_F(SceneEditorTest, AnAlphaThatNobodyHasSaidIsThatOfTheLayout) {
  begin(Layout::pip, 2);
  key(SceneKey::next_layout);
  EXPECT_EQ(editor_.scene().layers[1].alpha, Alpha::straight) << "otherwise nothing is seen of the first";
  key(SceneKey::next_layout);
  EXPECT_EQ(editor_.scene().layers[1].alpha, Alpha::opaque);
  given_.layers[1].alpha = Alpha::premultiplied;
  given_.layers[1].says_alpha = true;
  begin(given_);
  key(SceneKey::next_layout);
  EXPECT_EQ(editor_.scene().layers[1].alpha, Alpha::premultiplied);
}

TEST_F(SceneEditorTest, ResetShowsTheGivenSceneAndKeepsTheSelection) {
  begin(Layout::pip, 3);
  key(SceneKey::select);
  key(SceneKey::to_front);
  key(SceneKey::hide);
  key(SceneKey::zoom);
  key(SceneKey::right);
  key(SceneKey::next_layout);
  EXPECT_TRUE(key(SceneKey::reset));
  EXPECT_EQ(editor_.scene(), given_);
  EXPECT_EQ(editor_.order(), (std::vector<std::size_t>{0, 1, 2}));
  EXPECT_EQ(selected(), "stream0");
}

TEST_F(SceneEditorTest, AnotherSceneReplacesWhatTheUserDid) {
  begin(Layout::grid, 3);
  EXPECT_FALSE(editor_.replace(given_)) << "nothing was done";
  click(10, 10);
  EXPECT_FALSE(editor_.replace(given_)) << "a selection arranges nothing";
  click(10, 10);
  key(SceneKey::to_front);
  press(100, 100);
  given_.layers.pop_back();
  EXPECT_TRUE(editor_.replace(given_));
  EXPECT_EQ(editor_.scene(), given_);
  EXPECT_EQ(editor_.order(), (std::vector<std::size_t>{0, 1}));
  EXPECT_EQ(selected(), "");
  EXPECT_FALSE(move(300, 300)) << "the drag has ended";
}

// ---- Pixel by pixel ----

TEST_F(SceneEditorTest, APictureIsShownPixelByPixelInTheMiddleOfItsBox) {
  begin(Layout::grid, 4);
  pictures_[0].size = {1000, 800};
  click(320, 180);
  EXPECT_TRUE(key(SceneKey::zoom));
  EXPECT_EQ(placed(0).picture, (PictureRectangle{-180, -220, 1000, 800}));
  EXPECT_EQ(visible(0), (PictureRectangle{0, 0, 640, 360}));
  EXPECT_EQ(editor_.scene().layout, Layout::grid);
  EXPECT_TRUE(key(SceneKey::zoom));
  EXPECT_EQ(visible(0), (PictureRectangle{95, 0, 450, 360}));
  pictures_[0].size = {100, 50};
  key(SceneKey::zoom);
  EXPECT_EQ(placed(0).picture, (PictureRectangle{270, 155, 100, 50}));
  EXPECT_EQ(visible(0), placed(0).picture);
}

TEST_F(SceneEditorTest, TheRightButtonPansToTheEdge) {
  begin(Layout::grid, 4);
  pictures_[0].size = {1000, 800};
  click(320, 180);
  drag(320, 180, 10, 10, PointerButton::right);
  EXPECT_EQ(editor_.scene(), given_) << "only after zooming";
  key(SceneKey::zoom);
  drag(320, 180, 10, -20, PointerButton::right);
  EXPECT_EQ(placed(0).picture, (PictureRectangle{-170, -240, 1000, 800}));
  drag(320, 180, 1000, 1000, PointerButton::right);
  EXPECT_EQ(placed(0).picture, (PictureRectangle{0, 0, 1000, 800}));
  drag(320, 180, -1, 0, PointerButton::right);
  EXPECT_EQ(placed(0).picture.x, 0) << "a click that trembles";
  drag(320, 180, -4, 0, PointerButton::right);
  EXPECT_EQ(placed(0).picture.x, -4) << "at once, from where it is seen";
}

TEST_F(SceneEditorTest, ArrowsPanAfterZooming) {
  begin(Layout::grid, 4);
  pictures_[0].size = {1000, 800};
  click(320, 180);
  key(SceneKey::zoom);
  EXPECT_TRUE(key(SceneKey::right));
  key(SceneKey::down, true);
  EXPECT_EQ(placed(0).picture, (PictureRectangle{-181, -230, 1000, 800})) << "what lies there comes into sight";
  for (int i = 0; i < 40; ++i) {
    key(SceneKey::down, true);
  }
  EXPECT_FALSE(key(SceneKey::down));
  EXPECT_EQ(placed(0).picture.y, 360 - 800);
  EXPECT_EQ(editor_.scene().layout, Layout::grid);
}

TEST_F(SceneEditorTest, ACropIsPannedLikeAPicture) {
  begin(Layout::grid, 4);
  given_.layers[0].crop = Box{100, 100, 800, 500};
  begin(given_);
  pictures_[0].size = {1000, 800};
  click(320, 180);
  key(SceneKey::zoom);
  EXPECT_EQ(placed(0).picture, (PictureRectangle{-180, -170, 1000, 800}));
  drag(320, 180, 500, 500, PointerButton::right);
  EXPECT_EQ(placed(0).picture, (PictureRectangle{-100, -100, 1000, 800})) << "not beyond the crop";
}

TEST_F(SceneEditorTest, AZoomedLayerIsMovedWithItsBox) {
  begin(Layout::grid, 4);
  pictures_[0].size = {1000, 800};
  click(320, 180);
  key(SceneKey::zoom);
  drag(320, 180, 100, 50);
  EXPECT_EQ(visible(0), (PictureRectangle{100, 50, 640, 360}));
  EXPECT_EQ(placed(0).picture, (PictureRectangle{-80, -170, 1000, 800}));
}

// ---- A stream that is alone ----

TEST_F(SceneEditorTest, AStreamAloneIsNeitherSelectedNorArranged) {
  begin(Layout::grid, 1);
  drag(640, 360, 100, 100);
  for (const SceneKey each : {SceneKey::select, SceneKey::left, SceneKey::to_front, SceneKey::to_back, SceneKey::hide,
                              SceneKey::next_layout}) {
    EXPECT_FALSE(key(each));
  }
  EXPECT_EQ(editor_.scene(), given_);
  EXPECT_EQ(editor_.selection(), Selection{});
  EXPECT_EQ(editor_.due_ns(), INT64_MAX);
  EXPECT_EQ(editor_.pointer(), PointerShape::usual);
}

TEST_F(SceneEditorTest, AStreamAloneIsZoomedAndPanned) {
  begin(Layout::grid, 1);
  pictures_[0].size = {3840, 2160};
  EXPECT_TRUE(key(SceneKey::zoom));
  EXPECT_TRUE(is_one_picture(editor_.scene())) << "it is still drawn directly";
  EXPECT_EQ(placed(0).picture, (PictureRectangle{-1280, -720, 3840, 2160}));
  drag(100, 100, 30, 40, PointerButton::right);
  EXPECT_EQ(placed(0).picture, (PictureRectangle{-1250, -680, 3840, 2160}));
  key(SceneKey::left, true);
  EXPECT_EQ(placed(0).picture, (PictureRectangle{-1240, -680, 3840, 2160}));
  key(SceneKey::reset);
  EXPECT_EQ(editor_.scene(), given_);
}

TEST_F(SceneEditorTest, ASceneOfOneStreamIsArrangedAsAnyOther) {
  begin(Layout::grid, 1);
  given_.layers[0].fit = Fit::cover;
  begin(given_);
  drag(640, 360, 100, 0);
  EXPECT_EQ(boxes()[0], (PictureRectangle{100, 0, 1280, 720}));
}

}  // namespace
}  // namespace framewire
