#include "viewer/scene_editor.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

namespace framewire {
namespace {

constexpr Size editor_surface{1280, 720};

/// Moves, presses and types as a user does, and looks at what is shown then.
class SceneEditorTest : public testing::Test {
 protected:
  /// Streams of 640x360, one a layer.
  void begin(Layout layout, std::size_t count) {
    Scene scene;
    scene.layout = layout;
    for (std::size_t i = 0; i < count; ++i) {
      scene.layers.push_back({.source = "stream" + std::to_string(i)});
    }
    begin(scene);
  }
  void begin(const Scene& scene) {
    given_ = scene;
    editor_ = SceneEditor(scene);
    pictures_.assign(scene.layers.size(), {.size = {640, 360}});
  }

  bool give(InputEvent event) {
    event.x = event.kind == InputEvent::Kind::key ? x_ : event.x;
    event.y = event.kind == InputEvent::Kind::key ? y_ : event.y;
    event.has_shift = event.has_shift || has_shift_;
    event.is_left_down = is_left_down_;
    event.is_right_down = is_right_down_;
    x_ = event.x;
    y_ = event.y;
    return editor_.take(event, {.surface = surface_, .pictures = pictures_}, now_ns_);
  }
  bool key(SceneKey key, bool has_shift = false) {
    return give({.kind = InputEvent::Kind::key, .key = key, .has_shift = has_shift});
  }
  bool move(double x, double y) { return give({.kind = InputEvent::Kind::move, .x = x, .y = y}); }
  bool press(double x, double y, PointerButton button = PointerButton::left) {
    (button == PointerButton::left ? is_left_down_ : is_right_down_) = true;
    return give({.kind = InputEvent::Kind::press, .button = button, .x = x, .y = y});
  }
  bool release(PointerButton button = PointerButton::left) {
    (button == PointerButton::left ? is_left_down_ : is_right_down_) = false;
    return give({.kind = InputEvent::Kind::release, .button = button, .x = x_, .y = y_});
  }
  void click(double x, double y) {
    press(x, y);
    release();
  }
  void drag(double x, double y, double dx, double dy, PointerButton button = PointerButton::left) {
    press(x, y, button);
    move(x + dx / 2, y + dy / 2);
    move(x + dx, y + dy);
    release(button);
  }

  [[nodiscard]] std::vector<PictureRectangle> boxes() const { return lay_out(editor_.scene(), surface_); }
  /// What is seen of the stream that was given at `index`.
  [[nodiscard]] PlacedPicture placed(std::size_t index) const {
    const auto& order = editor_.order();
    const auto at = static_cast<std::size_t>(std::ranges::find(order, index) - order.begin());
    const PictureShape& shape = pictures_[index];
    return place(editor_.scene().layers[at], editor_.scene().layout, shape.size, shape.sample_aspect_ratio,
                 boxes()[at]);
  }
  [[nodiscard]] PictureRectangle visible(std::size_t index) const { return placed(index).visible; }
  /// The source of the selected layer, or nothing.
  [[nodiscard]] std::string selected() const {
    const Selection selection = editor_.selection();
    return selection.is_outlined ? editor_.scene().layers.at(selection.layer).source : "";
  }

  Scene given_;
  SceneEditor editor_{Scene{}};
  std::vector<PictureShape> pictures_;
  Size surface_ = editor_surface;
  std::int64_t now_ns_ = ns_per_s;
  double x_ = 0;
  double y_ = 0;
  bool has_shift_ = false;
  bool is_left_down_ = false;
  bool is_right_down_ = false;
};

// ---- Selecting ----

TEST_F(SceneEditorTest, AClickSelectsTheLayerUnderThePointer) {
  begin(Layout::grid, 4);
  EXPECT_EQ(selected(), "");
  for (const auto& [x, y, source] : {std::tuple(10, 10, "stream0"), std::tuple(1270, 10, "stream1"),
                                     std::tuple(10, 710, "stream2"), std::tuple(1270, 710, "stream3")}) {
    EXPECT_TRUE(press(x, y));
    release();
    EXPECT_EQ(selected(), source);
  }
  EXPECT_EQ(editor_.scene(), given_) << "a click arranges nothing";
}

TEST_F(SceneEditorTest, AClickSelectsTheFrontOneThatIsSeen) {
  begin(Layout::overlay, 3);
  click(640, 360);
  EXPECT_EQ(selected(), "stream2");
  key(SceneKey::hide);
  click(640, 360);
  EXPECT_EQ(selected(), "stream1");
}

TEST_F(SceneEditorTest, AClickBesideAllLayersSelectsNone) {
  begin(Layout::grid, 3);  // the lower one stands in the middle
  click(640, 500);
  EXPECT_EQ(selected(), "stream2");
  click(100, 500);
  EXPECT_EQ(selected(), "");
}

TEST_F(SceneEditorTest, TheBarsBesideAPictureAreNotThePicture) {
  begin(Layout::side, 2);  // each 640x360 in 640x720
  click(300, 100);
  EXPECT_EQ(selected(), "");
  click(300, 200);
  EXPECT_EQ(selected(), "stream0");
}

TEST_F(SceneEditorTest, AStreamThatIsAwaitedIsClickedInItsBox) {
  begin(Layout::side, 2);
  pictures_[0] = {};
  click(300, 100);
  EXPECT_EQ(selected(), "stream0");
}

TEST_F(SceneEditorTest, TabGoesThroughTheStreamsInTheirOrder) {
  begin(Layout::grid, 3);
  for (const char* source : {"stream0", "stream1", "stream2", "stream0"}) {
    EXPECT_TRUE(key(SceneKey::select));
    EXPECT_EQ(selected(), source);
  }
  for (const char* source : {"stream2", "stream1"}) {
    EXPECT_TRUE(key(SceneKey::select, true));
    EXPECT_EQ(selected(), source);
  }
  key(SceneKey::to_front);
  EXPECT_EQ(selected(), "stream1") << "the same, elsewhere";
  key(SceneKey::select);
  EXPECT_EQ(selected(), "stream2");
}

TEST_F(SceneEditorTest, ShiftTabBeginsWithTheLast) {
  begin(Layout::grid, 3);
  key(SceneKey::select, true);
  EXPECT_EQ(selected(), "stream2");
}

TEST_F(SceneEditorTest, TheFrameDisappearsWithoutInputAndComesBack) {
  begin(Layout::grid, 2);
  click(10, 300);
  now_ns_ += SceneEditor::frame_ns - 1;
  EXPECT_FALSE(editor_.pass_time(now_ns_));
  EXPECT_EQ(editor_.due_ns(), now_ns_ + 1);
  EXPECT_TRUE(editor_.pass_time(now_ns_ + 1));
  EXPECT_FALSE(editor_.selection().is_outlined);
  EXPECT_EQ(editor_.selection().layer, 0U) << "the panel stays";
  EXPECT_EQ(editor_.due_ns(), INT64_MAX);
  EXPECT_FALSE(editor_.pass_time(now_ns_ + 2));
  EXPECT_TRUE(move(20, 20));
  EXPECT_EQ(selected(), "stream0");
  EXPECT_FALSE(move(21, 20)) << "nothing more to draw";
}

// ---- Moving and resizing ----

TEST_F(SceneEditorTest, ADragMovesOneLayerAndLeavesTheOthers) {
  begin(Layout::grid, 4);
  const auto before = boxes();
  drag(100, 100, 37, -11);
  EXPECT_EQ(editor_.scene().layout, Layout::free);
  EXPECT_EQ(editor_.scene().canvas, editor_surface);
  EXPECT_EQ(visible(0), (PictureRectangle{37, -11, 640, 360}));
  for (std::size_t i = 1; i < before.size(); ++i) {
    EXPECT_EQ(boxes()[i], before[i]);
  }
}

TEST_F(SceneEditorTest, AHandThatTremblesMovesNothing) {
  begin(Layout::grid, 4);
  drag(100, 100, 2, -2);
  EXPECT_EQ(editor_.scene(), given_);
  EXPECT_EQ(selected(), "stream0");
}

TEST_F(SceneEditorTest, AMovedLayerTakesItsPictureAlongAndNotItsBars) {
  begin(Layout::side, 2);
  drag(100, 360, 0, 50);
  EXPECT_EQ(boxes()[0], (PictureRectangle{0, 230, 640, 360}));
  EXPECT_EQ(boxes()[1], (PictureRectangle{640, 0, 640, 720}));
}

TEST_F(SceneEditorTest, AnArrangedSceneGrowsWithItsSurface) {
  begin(Layout::grid, 4);
  drag(100, 100, 40, 20);
  surface_ = {2560, 1440};
  EXPECT_EQ(visible(0), (PictureRectangle{80, 40, 1280, 720}));
}

TEST_F(SceneEditorTest, ArrowsMoveByOneAndByTenPixels) {
  begin(Layout::grid, 4);
  EXPECT_FALSE(key(SceneKey::right)) << "nothing is selected";
  click(100, 100);
  EXPECT_TRUE(key(SceneKey::right));
  EXPECT_EQ(visible(0), (PictureRectangle{1, 0, 640, 360}));
  key(SceneKey::down, true);
  key(SceneKey::down);
  EXPECT_EQ(visible(0), (PictureRectangle{1, 11, 640, 360}));
  key(SceneKey::left, true);
  key(SceneKey::up);
  EXPECT_EQ(visible(0), (PictureRectangle{-9, 10, 640, 360}));
}

TEST_F(SceneEditorTest, ACornerKeepsTheAspect) {
  begin(Layout::grid, 4);
  click(100, 100);
  drag(640, 360, -320, -180);
  EXPECT_EQ(visible(0), (PictureRectangle{0, 0, 320, 180}));
  drag(320, 180, 16, 9);
  EXPECT_EQ(visible(0), (PictureRectangle{0, 0, 336, 189}));
}

TEST_F(SceneEditorTest, TheOppositeCornerStays) {
  begin(Layout::grid, 4);
  click(1000, 600);
  drag(640, 360, 64, 36);
  EXPECT_EQ(visible(3), (PictureRectangle{704, 396, 576, 324}));
}

TEST_F(SceneEditorTest, AnEdgeChangesOneSide) {
  begin(Layout::grid, 4);
  click(100, 100);
  drag(640, 180, -100, 30);
  EXPECT_EQ(boxes()[0], (PictureRectangle{0, 0, 540, 360}));
  EXPECT_EQ(visible(0), (PictureRectangle{0, 28, 540, 304})) << "the picture is not distorted";
}

TEST_F(SceneEditorTest, AnEdgeWithShiftKeepsTheAspect) {
  begin(Layout::grid, 4);
  click(100, 100);
  has_shift_ = true;
  drag(640, 180, -160, 0);
  EXPECT_EQ(visible(0), (PictureRectangle{0, 45, 480, 270}));
}

TEST_F(SceneEditorTest, ThePointerSaysWhatADragWouldDo) {
  begin(Layout::grid, 4);
  move(640, 360);
  EXPECT_EQ(editor_.pointer(), PointerShape::arrow) << "nothing is selected";
  click(100, 100);
  for (const auto& [x, y, shape] :
       {std::tuple(640, 180, PointerShape::resize_x), std::tuple(320, 363, PointerShape::resize_y),
        std::tuple(1, 1, PointerShape::resize_falling), std::tuple(638, 358, PointerShape::resize_falling),
        std::tuple(638, 2, PointerShape::resize_rising), std::tuple(320, 180, PointerShape::arrow)}) {
    move(x, y);
    EXPECT_EQ(editor_.pointer(), shape) << x << "," << y;
  }
  press(320, 180);
  move(330, 190);
  EXPECT_EQ(editor_.pointer(), PointerShape::hand);
  now_ns_ += SceneEditor::frame_ns;
  editor_.pass_time(now_ns_);
  EXPECT_EQ(editor_.pointer(), PointerShape::usual) << "in fullscreen it disappears";
}

TEST_F(SceneEditorTest, ADragEndsWhenItsButtonIsUpWhateverWasLost) {
  begin(Layout::grid, 4);
  press(100, 100);
  move(150, 100);
  is_left_down_ = false;
  move(300, 300);
  EXPECT_EQ(visible(0).x, 50);
}

TEST_F(SceneEditorTest, InAWallTheCanvasStaysThatOfTheWall) {
  begin(Layout::grid, 1);
  given_.wall = Wall{.columns = 2, .rows = 1, .column = 1, .row = 0};
  begin(given_);
  const PictureRectangle before = visible(0);
  drag(100, 360, 25, 5);
  EXPECT_EQ(editor_.scene().canvas, (Size{2560, 720}));
  EXPECT_EQ(visible(0), (PictureRectangle{before.x + 25, before.y + 5, before.width, before.height}));
}

TEST_F(SceneEditorTest, ACanvasOfItsOwnStays) {
  begin(Layout::grid, 4);
  given_.canvas = Size{1920, 1080};
  begin(given_);
  drag(100, 100, 7, 3);
  EXPECT_EQ(editor_.scene().canvas, (Size{1920, 1080}));
  EXPECT_EQ(visible(0), (PictureRectangle{7, 3, 640, 360}));
}

TEST_F(SceneEditorTest, ASqueezedPictureStaysSqueezed) {
  for (const Layout layout : {Layout::stereo_side, Layout::stereo_top}) {
    begin(layout, 3);
    const std::vector<PictureRectangle> before = {visible(0), visible(1)};
    drag(100, 100, 10, 0);
    EXPECT_EQ(visible(0), (PictureRectangle{before[0].x + 10, before[0].y, before[0].width, before[0].height}));
    EXPECT_EQ(visible(1), before[1]);
    EXPECT_TRUE(editor_.scene().layers[2].is_hidden) << "it had no place, and has one when it is shown";
    key(SceneKey::select, true);
    key(SceneKey::hide);
    EXPECT_EQ(visible(2), (PictureRectangle{320, 180, 640, 360}));
  }
}

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
