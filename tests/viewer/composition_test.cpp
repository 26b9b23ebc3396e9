#include "viewer/composition.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <set>
#include <vector>

#include "base/clock.hpp"
#include "gl/colour_conversion.hpp"
#include "gl/gl.hpp"
#include "gl/offscreen_target.hpp"
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
    streams_ = {
        {.layer = &layer_, .facts = &facts_, .statistics = &statistics_, .counts = counts_, .silence = silence_}};
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
  SubscriberCounts counts_;
  std::optional<Silence> silence_;
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

TEST_F(CompositionTest, SaysInALineThatFramesStayAway) {
  show_a_white_frame();
  facts_.status.state = SubscriberState::connected;
  silence_ = Silence{.since_ns = now_ns_ - 4 * ns_per_s, .said_from_ns = now_ns_ + 1};
  EXPECT_EQ(colours(draw()), 1U) << "it is not time yet";
  EXPECT_EQ(composition_.step_ns(streams()), RedrawSchedule::never_ns);
  now_ns_ += ns_per_s;
  const Image five_seconds = draw();
  EXPECT_GT(colours(five_seconds), 10U);
  EXPECT_EQ(edge(five_seconds), 255) << "the picture is not dimmed";
  EXPECT_LE(composition_.step_ns(streams()), ns_per_s) << "the seconds are counted";
  now_ns_ += ns_per_s;
  EXPECT_NE(draw().pixels, five_seconds.pixels);
  facts_.status.state = SubscriberState::lost;
  const Image lost = draw();
  silence_.reset();
  EXPECT_EQ(lost.pixels, draw().pixels) << "that is said instead";
  facts_.status.state = SubscriberState::connected;
  EXPECT_EQ(colours(draw()), 1U);
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
  composition_.frame_shown(0, {ns_per_ms, 0, ns_per_ms, 2 * ns_per_ms, ns_per_ms, std::nullopt});
  draw();  // ImGui only measures a new window in its first frame
  EXPECT_GT(colours(draw()), 20U);
  EXPECT_EQ(edge(draw()), 255);
  composition_.toggle_panel();
  EXPECT_EQ(colours(draw()), 1U);
}

TEST_F(CompositionTest, ThePanelHasRoomForEveryCount) {
  show_a_white_frame();
  facts_.status.state = SubscriberState::connected;
  counts_.frames_skipped = 1'000'000'000'000'000;
  composition_.toggle_panel();
  draw();
  const Image before = draw();
  EXPECT_EQ(before.pixels, draw().pixels);
  statistics_.frame_superseded();
  EXPECT_NE(before.pixels, draw().pixels) << "the last digit is seen";
}

/// As a window's screenshot that lacks what the viewer writes over it.
class KeptPictures : public CompositionTest {
 protected:
  [[nodiscard]] std::set<int> kept_values() const {
    const OffscreenTarget copy(composition_.pictures()->size());
    composition_.pictures()->copy_to(copy, {0, 0, 640, 360});
    std::set<int> values;
    const Image picture = read_image(copy);
    for (const std::byte value : picture.pixels) {
      values.insert(std::to_integer<int>(value));
    }
    return values;
  }
};

TEST_F(KeptPictures, AreWithoutPanelAndBanner) {
  EXPECT_EQ(composition_.pictures(), nullptr);
  composition_.keep_pictures(true);
  show_a_white_frame();
  facts_.status.state = SubscriberState::connected;
  EXPECT_EQ(colours(draw()), 1U) << "and it is shown as ever";
  EXPECT_EQ(kept_values(), std::set{255});
  composition_.toggle_panel();
  facts_.status.state = SubscriberState::lost;
  draw();
  EXPECT_GT(colours(draw()), 20U);
  EXPECT_EQ(kept_values(), std::set{255});
}

TEST_F(KeptPictures, OfSeveralStreamsChangeOnlyWithThem) {
  composition_.keep_pictures(true);
  composition_.show({.layout = Layout::overlay, .layers = {{.source = "box"}, {.source = "box"}}});
  show_a_white_frame();
  facts_.status.state = SubscriberState::connected;
  Layer absent(painters_, false, statistics_, Quality::fast);
  const auto draw_both = [&] {
    surface_.begin();
    const std::vector<ComposedStream> both = {{.layer = &layer_, .facts = &facts_, .statistics = &statistics_},
                                              {.layer = &absent, .facts = &facts_, .statistics = &statistics_}};
    composition_.draw({.size = surface_.size()}, both, now_ns_);
    return composition_.pictures_version();
  };
  const std::uint64_t first = draw_both();
  EXPECT_EQ(kept_values(), std::set{255});
  composition_.toggle_panel();
  EXPECT_EQ(draw_both(), first) << "the panel is not part of them";
  ASSERT_EQ(layer_.upload(frames_.make(2, 100)), Layer::Upload::done);
  EXPECT_NE(draw_both(), first);
  EXPECT_EQ(kept_values(), (std::set{100, 255}));
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

class SeveralStreams : public CompositionTest {
 protected:
  /// Streams without pictures, in a scene of this layout.
  void show(Layout layout, std::size_t count) {
    first_facts_.status.state = SubscriberState::connected;
    scene_ = {.layout = layout};
    for (std::size_t i = 0; i < count; ++i) {
      scene_.layers.push_back({.source = "box"});
      absent_.push_back(std::make_unique<Layer>(painters_, false, statistics_, Quality::fast));
    }
    composition_.show(scene_);
  }

  /// `first` is drawn in place of the first stream.
  Image draw_all(Layer* first = nullptr, Size size = {640, 360}) {
    AttachedHeadless* surface = &attached_;
    std::optional<OffscreenTarget> other;
    streams_.clear();
    for (std::size_t i = 0; i < absent_.size(); ++i) {
      Layer* layer = i == 0 && first != nullptr ? first : absent_[i].get();
      streams_.push_back({.layer = layer, .facts = i == 0 ? &first_facts_ : &facts_, .statistics = &statistics_});
    }
    if (size != surface_.size()) {
      other.emplace(size);
      other->bind();
      composition_.draw({.size = size}, streams_, now_ns_);
      return {};
    }
    surface->surface.begin();
    composition_.draw({.size = size}, streams_, now_ns_);
    surface->surface.present();
    return surface->surface.capture({});
  }

  Scene scene_;
  std::vector<std::unique_ptr<Layer>> absent_;
  StreamFacts first_facts_{.peer_text = "first", .status = {}, .lost_message = {}};
};

TEST_F(SeveralStreams, SurviveBoxesOfEverySize) {
  show(Layout::grid, 64);
  for (const Size size : {Size{320, 180}, Size{240, 135}, Size{64, 36}, Size{17, 9}, Size{1, 1}, Size{2000, 20}}) {
    for (int i = 0; i < 30; ++i) {
      now_ns_ += 100 * ns_per_ms;
      draw_all(nullptr, size);
    }
  }
}

TEST_F(SeveralStreams, WithoutAPlaceAreNotDrawn) {
  show(Layout::stereo_side, 3);
  draw_all();
  EXPECT_TRUE(composition_.shows(1));
  EXPECT_FALSE(composition_.shows(2)) << "there is no third eye";
  scene_.layers[0].is_hidden = scene_.layers[1].is_hidden = scene_.layers[2].is_hidden = true;
  composition_.show(scene_);
  const Image picture = draw_all();
  EXPECT_EQ(colours(picture), 1U);
  EXPECT_EQ(composition_.step_ns(streams_), RedrawSchedule::never_ns) << "nothing moves";
  EXPECT_FALSE(composition_.shows(0));
}

/// As the merged picture is drawn: the layers' keys mean nothing there.
TEST_F(SeveralStreams, MergedByDepthAreWhereThePictureIs) {
  show_a_white_frame();
  show(Layout::depth, 2);
  const auto place_with = [&](const SceneLayer& first) {
    scene_.layers[0] = first;
    composition_.show(scene_);
    draw_all(&layer_);
    return composition_.place_of(streams_[0], 0);
  };
  const PicturePlace whole{{0, 0, 640, 360}, {0, 0, 640, 360}};
  ASSERT_EQ(layer_.frame_size(), (Size{64, 36}));
  EXPECT_EQ(place_with({}), whole);
  EXPECT_EQ(place_with({.crop = Box{0, 0, 32, 9}, .fit = Fit::cover}), whole);
  EXPECT_EQ(place_with({.opacity = 0}), whole);
  EXPECT_EQ(place_with({.is_hidden = true}), whole);
  streams_[0].defect = "its frames have no depth";
  EXPECT_EQ(composition_.place_of(streams_[0], 0), PicturePlace{}) << "it is not in the picture";
}

TEST_F(SeveralStreams, MergedByDepthAreDrawnAlthoughTheFirstIsHidden) {
  ASSERT_EQ(layer_.upload(frames_.make(1, 100)), Layer::Upload::done);
  layer_.forget_memory();
  show(Layout::depth, 2);
  scene_.layers[0].is_hidden = true;
  composition_.show(scene_);
  draw_all(&layer_);
  OffscreenTarget white({64, 36});
  white.bind();
  glClearColor(1, 1, 1, 1);
  glClear(GL_COLOR_BUFFER_BIT);
  const PaintedFrame merged{.textures = {white.texture()},
                            .texture_count = 1,
                            .size = white.size(),
                            .conversion = colour_conversion(PixelFormat::rgba, {}, 36)};
  surface_.begin();
  composition_.draw({.size = surface_.size(), .merged = &merged, .painters = &painters_}, streams_, now_ns_);
  surface_.present();
  EXPECT_EQ(edge(surface_.capture({})), 255);
}

TEST_F(SeveralStreams, OneThatIsAbsentHidesNoneThatItWouldLieOver) {
  show_a_white_frame();
  show(Layout::overlay, 3);
  const Image picture = draw_all(&layer_);
  EXPECT_EQ(edge(picture), 255);
  const std::size_t middle = (picture.size.height / 2 * std::size_t{picture.size.width} + picture.size.width / 2) * 4;
  EXPECT_EQ(std::to_integer<int>(picture.pixels[middle]), 255);
  EXPECT_GT(colours(picture), 10U) << "two notes";
}

TEST_F(SeveralStreams, EachSaysInItsCellWhatItWaitsFor) {
  show_a_white_frame();
  show(Layout::side, 2);
  const Image picture = draw_all(&layer_);
  EXPECT_EQ(edge(picture), 255);
  EXPECT_GT(colours(picture), 40U);
  EXPECT_LT(composition_.step_ns(streams_), ns_per_s) << "it moves";
}

TEST_F(SeveralStreams, OneThatWasRefusedDoesNotSeemToWait) {
  show(Layout::side, 2);
  facts_.status.state = SubscriberState::failed;
  facts_.status.message = "the sender has no such stream";
  first_facts_.status.state = SubscriberState::failed;
  const Image before = draw_all();
  now_ns_ += 2 * ns_per_s;  // a period of the banner's dot
  EXPECT_EQ(before.pixels, draw_all().pixels);
}

}  // namespace
}  // namespace framewire
