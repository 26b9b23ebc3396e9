// What a refresh of the picture costs: each picture that OpenGL is told to upload, to convert and to blend is counted.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "gl/gl.hpp"
#include "gl/offscreen_target.hpp"
#include "tests/base/substitute.hpp"
#include "tests/viewer/attached_headless.hpp"
#include "tests/viewer/received_frames.hpp"
#include "viewer/composition.hpp"

namespace framewire {
namespace {

constexpr Size costed_surface{160, 96};

/// What OpenGL was told since the last reset. Both painters and the blender draw one triangle for each picture, whose
/// first texture is bound to unit 0, and which the viewport cuts.
struct GlWork {
  std::map<GLuint, int> uploads;      // by texture
  std::map<GLuint, int> conversions;  // without blending
  std::map<GLuint, std::vector<Rectangle>> blends;

  static inline GlWork* counted = nullptr;
  static inline PFNGLDRAWARRAYSPROC draw_arrays = nullptr;
  static inline PFNGLTEXTURESUBIMAGE2DPROC sub_image = nullptr;

  static void GLAD_API_PTR count_draw(GLenum mode, GLint first, GLsizei count) {
    GLint texture = 0;
    std::array<GLint, 4> at{};
    glGetIntegerv(GL_TEXTURE_BINDING_2D, &texture);
    glGetIntegerv(GL_VIEWPORT, at.data());
    if (glIsEnabled(GL_BLEND) == GL_TRUE) {
      counted->blends[static_cast<GLuint>(texture)].push_back({at[0], at[1], at[2], at[3]});
    } else {
      ++counted->conversions[static_cast<GLuint>(texture)];
    }
    draw_arrays(mode, first, count);
  }
  static void GLAD_API_PTR count_upload(GLuint texture, GLint level, GLint x, GLint y, GLsizei width, GLsizei height,
                                        GLenum format, GLenum type, const void* pixels) {
    ++counted->uploads[texture];
    sub_image(texture, level, x, y, width, height, format, type, pixels);
  }
};

/// A stream of frames of one value.
struct CostedStream {
  CostedStream(Painters& painters, Size size)
      : frames(PixelFormat::rgba, size.width, size.height), layer(painters, false, statistics, Quality::fast) {}

  void upload() {
    ++sequence;
    ASSERT_EQ(layer.upload(frames.make(sequence, static_cast<std::uint8_t>(40 * sequence))), Layer::Upload::done);
    layer.forget_memory();
  }
  [[nodiscard]] GLuint texture() const { return layer.depth_picture().colour; }

  FrameMaker frames;
  Statistics statistics;
  Layer layer;
  std::uint64_t sequence = 0;
};

class RefreshCosts : public testing::Test {
 protected:
  RefreshCosts() {
    facts_.status.state = SubscriberState::connected;
    GlWork::counted = &work_;
    GlWork::draw_arrays = glad_glDrawArrays;
    GlWork::sub_image = glad_glTextureSubImage2D;
    drawing_.emplace(glad_glDrawArrays, GlWork::count_draw);
    uploading_.emplace(glad_glTextureSubImage2D, GlWork::count_upload);
    target_.bind();
  }

  void add_streams(std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
      streams_.push_back(std::make_unique<CostedStream>(painters_, Size{64, 36}));
    }
  }

  void show(const Scene& scene) { composition_.show(scene); }

  /// A refresh of the screen.
  void refresh() {
    std::vector<ComposedStream> composed;
    for (const auto& stream : streams_) {
      composed.push_back({.layer = &stream->layer, .facts = &facts_, .statistics = &stream->statistics});
    }
    target_.bind();
    composition_.draw({.size = costed_surface, .keeps_content = true}, composed, 1);
    for (const auto& [texture, places] : work_.blends) {
      expect_apart(places);
    }
  }

  /// No pixel of a layer is blended twice.
  static void expect_apart(const std::vector<Rectangle>& places) {
    for (std::size_t i = 0; i < places.size(); ++i) {
      for (std::size_t j = i + 1; j < places.size(); ++j) {
        EXPECT_TRUE(is_empty(common_part(places[i], places[j]))) << "a layer was blended twice in one place";
      }
    }
  }

  void new_frame(std::size_t index) { ASSERT_NO_FATAL_FAILURE(streams_[index]->upload()); }

  void show_new_frames_of_three(Layout layout) {
    show(scene_of(layout, 3));
    for (std::size_t i = 0; i < 3; ++i) {
      new_frame(i);
    }
  }

  [[nodiscard]] int conversions(std::size_t index) const {
    const auto found = work_.conversions.find(streams_[index]->texture());
    return found == work_.conversions.end() ? 0 : found->second;
  }
  [[nodiscard]] int all_conversions() const {
    int sum = 0;
    for (const auto& [texture, count] : work_.conversions) {
      sum += count;
    }
    return sum;
  }
  [[nodiscard]] std::size_t blended_layers() const { return work_.blends.size(); }

  static Scene scene_of(Layout layout, std::size_t count) {
    Scene scene{.layout = layout};
    for (std::size_t i = 0; i < count; ++i) {
      scene.layers.push_back({.source = "box", .alpha = usual_alpha(layout, i, Blend::over)});
    }
    return scene;
  }

  AttachedHeadless attached_{costed_surface};
  OffscreenTarget target_{costed_surface};
  Painters painters_;
  Composition composition_;
  StreamFacts facts_{.peer_text = "box", .status = {}, .lost_message = {}};
  std::vector<std::unique_ptr<CostedStream>> streams_;
  GlWork work_;
  std::optional<test::Substitute<PFNGLDRAWARRAYSPROC>> drawing_;
  std::optional<test::Substitute<PFNGLTEXTURESUBIMAGE2DPROC>> uploading_;
};

constexpr std::array composed_layouts{Layout::grid,       Layout::side, Layout::stereo_side,
                                      Layout::stereo_top, Layout::pip,  Layout::overlay};

/// The layers that a layout of three shows.
std::size_t seen_of_three(Layout layout) {
  return layout == Layout::stereo_side || layout == Layout::stereo_top ? 2 : 3;
}

TEST_F(RefreshCosts, ARefreshWithoutNewsUploadsConvertsAndBlendsNothing) {
  add_streams(3);
  for (const Layout layout : composed_layouts) {
    SCOPED_TRACE(name(layout));
    show_new_frames_of_three(layout);
    work_ = {};
    refresh();
    EXPECT_EQ(all_conversions(), static_cast<int>(seen_of_three(layout)));
    EXPECT_LE(blended_layers(), 3U);
    for (int i = 0; i < 3; ++i) {
      work_ = {};
      refresh();
      EXPECT_TRUE(work_.uploads.empty());
      EXPECT_TRUE(work_.conversions.empty());
      EXPECT_TRUE(work_.blends.empty());
    }
  }
}

TEST_F(RefreshCosts, ANewFrameIsUploadedAndConvertedOnce) {
  add_streams(3);
  for (const Layout layout : composed_layouts) {
    SCOPED_TRACE(name(layout));
    show_new_frames_of_three(layout);
    refresh();
    for (std::size_t i = 0; i < seen_of_three(layout); ++i) {
      work_ = {};
      new_frame(i);
      refresh();
      EXPECT_EQ(work_.uploads, (std::map<GLuint, int>{{streams_[i]->texture(), 1}}));
      EXPECT_EQ(work_.conversions, (std::map<GLuint, int>{{streams_[i]->texture(), 1}}));
      EXPECT_LE(blended_layers(), 3U);
    }
  }
}

/// What lies side by side is not blended at all: a grid costs what its streams cost alone.
TEST_F(RefreshCosts, PicturesThatTouchNoOtherAreNotBlended) {
  add_streams(3);
  for (const Layout layout : {Layout::grid, Layout::side, Layout::stereo_side, Layout::stereo_top}) {
    SCOPED_TRACE(name(layout));
    show(scene_of(layout, 3));
    work_ = {};
    for (std::size_t i = 0; i < 3; ++i) {
      new_frame(i);
    }
    refresh();
    EXPECT_TRUE(work_.blends.empty());
  }
}

TEST_F(RefreshCosts, AMovedPictureIsNotConvertedAgain) {
  add_streams(2);
  Scene scene = scene_of(Layout::free, 2);
  scene.layers[1].box = {10, 10, 64, 36};
  show(scene);
  new_frame(0);
  new_frame(1);
  refresh();
  work_ = {};
  scene.layers[1].box->x = 20;
  show(scene);
  refresh();
  EXPECT_EQ(all_conversions(), 0);
  EXPECT_EQ(blended_layers(), 2U);
  scene.layers[1].box->width = 32;
  work_ = {};
  show(scene);
  refresh();
  EXPECT_EQ(conversions(0), 0);
  EXPECT_EQ(conversions(1), 1) << "it has another size";
}

/// Two layers overlap, and a third lies in the corner beside them.
TEST_F(RefreshCosts, APictureBesideOthersIsNotConvertedForTheirFrames) {
  add_streams(3);
  Scene scene = scene_of(Layout::free, 3);
  scene.layers[0].box = {0, 0, 80, 48};
  scene.layers[1].box = {60, 40, 80, 48};
  scene.layers[2].box = {100, 0, 32, 18};
  show(scene);
  for (std::size_t i = 0; i < 3; ++i) {
    new_frame(i);
  }
  refresh();
  for (int frame = 0; frame < 3; ++frame) {
    work_ = {};
    new_frame(0);
    new_frame(1);
    refresh();
    EXPECT_EQ(conversions(0), 1);
    EXPECT_EQ(conversions(1), 1);
    EXPECT_EQ(conversions(2), frame == 0 ? conversions(2) : 0) << "it has no new frame";
  }
}

/// Frames come to some of the layers, and one is moved now and then, in any way.
TEST_F(RefreshCosts, NoRefreshConvertsAPictureTwiceOrBlendsItTwiceInOnePlace) {
  constexpr std::size_t count = 5;
  add_streams(count);
  std::mt19937 random(1);
  const auto below = [&random](int limit) { return static_cast<int>(random() % static_cast<unsigned>(limit)); };
  const auto any_box = [&] { return Box{below(150) - 20.0, below(90) - 20.0, 8.0 + below(60), 8.0 + below(40)}; };
  Scene scene = scene_of(Layout::free, count);
  for (SceneLayer& layer : scene.layers) {
    layer.box = any_box();
  }
  std::array<int, count> for_others{};  // conversions without a new frame: while one is moved, and since then
  bool has_unblended = false;
  for (int step = 0; step < 600; ++step) {
    SCOPED_TRACE(step);
    if (step % 6 == 0) {
      scene.layers[static_cast<std::size_t>(below(count))].box = any_box();
      show(scene);
    }
    if (step % 6 < 2) {
      for_others = {};
    }
    work_ = {};
    std::array<bool, count> has_frame{};
    for (std::size_t i = 0; i < count; ++i) {
      has_frame.at(i) = step == 0 || below(2) == 0;
      if (has_frame.at(i)) {
        new_frame(i);
      }
    }
    EXPECT_EQ(work_.uploads.size(), static_cast<std::size_t>(std::ranges::count(has_frame, true)));
    refresh();
    for (std::size_t i = 0; i < count; ++i) {
      EXPECT_LE(conversions(i), 1);
      for_others.at(i) += has_frame.at(i) ? 0 : conversions(i);
      EXPECT_LE(for_others.at(i), 1) << "layer " << i << " is converted again for the frames of others";
    }
    EXPECT_LE(blended_layers(), count);
    has_unblended |= blended_layers() < count && all_conversions() > 0;
  }
  EXPECT_TRUE(has_unblended) << "some layers touch no other";
}

}  // namespace
}  // namespace framewire
