// What is selected, moved and resized.
#include "viewer/scene_editor.hpp"

#include <gtest/gtest.h>

#include "tests/viewer/edited_scene.hpp"

namespace framewire {
namespace {

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

}  // namespace
}  // namespace framewire
