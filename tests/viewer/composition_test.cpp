#include "viewer/composition.hpp"

#include <gtest/gtest.h>

#include <set>

#include "base/clock.hpp"
#include "tests/viewer/attached_headless.hpp"
#include "tests/viewer/received_frames.hpp"
#include "viewer/redraw_schedule.hpp"

namespace framewire {
namespace {

class CompositionTest : public testing::Test {
 protected:
  CompositionTest() { composition_.show({.layers = {{.source = "box"}}}); }

  Image draw() {
    surface_.begin();
    composition_.draw({.size = surface_.size()}, streams(), now_ns_);
    surface_.present();
    return surface_.capture({});
  }

  [[nodiscard]] Composition::Streams streams() {
    streams_ = {{.layer = &layer_, .facts = &facts_, .statistics = &statistics_}};
    return streams_;
  }

  /// The red value in the middle of the left edge, where there is no text.
  static int edge(const Image& picture) {
    return std::to_integer<int>(picture.pixels.at(picture.size.height / 2 * std::size_t{picture.size.width} * 4));
  }

  static std::size_t colours(const Image& picture) {
    std::set<std::array<std::byte, 3>> seen;
    for (std::size_t i = 0; i + 3 < picture.pixels.size(); i += 4) {
      seen.insert({picture.pixels[i], picture.pixels[i + 1], picture.pixels[i + 2]});
    }
    return seen.size();
  }

  void show_a_white_frame() {
    ASSERT_EQ(layer_.upload(frames_.make(1, 255)), Layer::Upload::done);
    layer_.forget_memory();
  }

  AttachedHeadless attached_{{640, 360}};
  Headless& surface_ = attached_.surface;
  Statistics statistics_;
  Painters painters_;
  Layer layer_{painters_, false, statistics_, Quality::fast};
  Composition composition_;
  std::vector<ComposedStream> streams_;
  FrameMaker frames_;
  StreamFacts facts_{.peer_text = "box:5290", .status = {}, .lost_message = "it went away"};
  std::int64_t now_ns_ = ns_per_s;
};

TEST_F(CompositionTest, WaitsInADarkPictureWithText) {
  const Image picture = draw();
  EXPECT_LT(edge(picture), 40);
  EXPECT_GT(colours(picture), 40U) << "text and the wire";
  EXPECT_LT(composition_.step_ns(streams()), ns_per_s) << "it moves";
}

TEST_F(CompositionTest, ThePulseMoves) {
  const Image before = draw();
  now_ns_ += ns_per_s;
  EXPECT_NE(before.pixels, draw().pixels);
}

TEST_F(CompositionTest, ShowsTheFrameAloneWhileConnected) {
  show_a_white_frame();
  facts_.status.state = SubscriberState::connected;
  const Image picture = draw();
  EXPECT_EQ(edge(picture), 255);
  EXPECT_EQ(colours(picture), 1U);
  EXPECT_EQ(composition_.step_ns(streams()), RedrawSchedule::never_ns);
}

TEST_F(CompositionTest, DimsTheLastFrameUnderABannerWhenTheSenderIsLost) {
  show_a_white_frame();
  facts_.status.state = SubscriberState::lost;
  const Image picture = draw();
  EXPECT_LT(edge(picture), 160);
  EXPECT_GT(edge(picture), 40);
  EXPECT_GT(colours(picture), 10U);
}

TEST_F(CompositionTest, HasAPanelOnDemand) {
  show_a_white_frame();
  facts_.status.state = SubscriberState::connected;
  composition_.toggle_panel();
  composition_.frame_shown(0, ns_per_ms);
  draw();  // ImGui only measures a new window in its first frame
  EXPECT_GT(colours(draw()), 20U);
  EXPECT_EQ(edge(draw()), 255);
  composition_.toggle_panel();
  EXPECT_EQ(colours(draw()), 1U);
}

TEST_F(CompositionTest, SurvivesTextThatIsLongOrStrange) {
  facts_.peer_text = std::string(3000, 'x') + "\xff\xfe %s %n";
  facts_.status.message = std::string(3000, 'y');
  EXPECT_LT(edge(draw()), 40);
  show_a_white_frame();
  facts_.status.state = SubscriberState::lost;
  facts_.lost_message = facts_.peer_text;
  EXPECT_LT(edge(draw()), 160);
}

}  // namespace
}  // namespace framewire
