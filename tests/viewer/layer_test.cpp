#include "viewer/layer.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <optional>
#include <string>

#include "base/clock.hpp"
#include "tests/base/substitute.hpp"
#include "tests/viewer/attached_headless.hpp"
#include "tests/viewer/received_frames.hpp"

namespace framewire {
namespace {

using Returned = std::vector<std::uint64_t>;
using ClientWaitSync = decltype(glad_glClientWaitSync);
using GetString = decltype(glad_glGetString);

GLenum GLAD_API_PTR wait_fails(GLsync, GLbitfield, GLuint64) {
  return GL_WAIT_FAILED;
}
GLenum GLAD_API_PTR wait_times_out(GLsync, GLbitfield, GLuint64) {
  return GL_TIMEOUT_EXPIRED;
}
const GLubyte* GLAD_API_PTR names_a_gpu(GLenum) {
  return reinterpret_cast<const GLubyte*>("a GPU");
}

class LayerTest : public testing::Test {
 protected:
  void present() {
    surface_.begin();
    layer_.draw({0, 0, 64, 36}, surface_.size(), monotonic_ns());
    surface_.present();
  }

  [[nodiscard]] int red_at(std::size_t x, std::size_t y) {
    const Image picture = surface_.capture({});
    return std::to_integer<int>(picture.pixels.at((y * picture.size.width + x) * 4));
  }

  AttachedHeadless attached_{{64, 36}};
  Headless& surface_ = attached_.surface;
  Statistics statistics_;
  Painters painters_;
  Layer layer_{painters_, true, statistics_, Quality::fast};
  FrameMaker frames_;
};

TEST_F(LayerTest, HasNoPictureBeforeTheFirstFrame) {
  EXPECT_FALSE(layer_.has_picture());
  EXPECT_TRUE(layer_.release_finished());
  present();
}

TEST_F(LayerTest, GivesTheCreditBackOnceTheGpuIsDone) {
  ASSERT_EQ(layer_.upload(frames_.make(7)), Layer::Upload::done);
  EXPECT_EQ(frames_.returned(), Returned{}) << "the GPU may still read it";
  present();
  EXPECT_TRUE(layer_.release_finished());
  EXPECT_EQ(frames_.returned(), Returned{7});
  EXPECT_TRUE(layer_.has_picture());
  EXPECT_NEAR(red_at(32, 18), 128, 1);
}

TEST_F(LayerTest, SlicesAreNotShownBeforeTheirFrameIsComplete) {
  FrameMaker next;
  ASSERT_EQ(layer_.upload(frames_.make(1, 50)), Layer::Upload::done);
  layer_.slice_arrived(next.make_slice(2, 0, 2, 200), ChromaLocation::unspecified, true);
  present();
  EXPECT_NEAR(red_at(32, 2), 50, 1);
  EXPECT_NEAR(red_at(32, 34), 50, 1);
  EXPECT_EQ(frames_.returned(), Returned{1});
  ASSERT_EQ(layer_.upload(next.make(2, 200)), Layer::Upload::done);
  present();
  EXPECT_NEAR(red_at(32, 2), 200, 1);
  EXPECT_NEAR(red_at(32, 34), 200, 1);
  EXPECT_TRUE(layer_.release_finished());
  EXPECT_EQ(next.returned(), Returned{2});
}

TEST_F(LayerTest, UploadsASliceOnlyOnce) {
  FrameMaker next;
  layer_.slice_arrived(next.make_slice(2, 0, 2, 200), ChromaLocation::unspecified, true);
  ASSERT_EQ(layer_.upload(next.make(2, 90)), Layer::Upload::done);  // other content than the slice had
  present();
  EXPECT_NEAR(red_at(32, 2), 200, 1);
  EXPECT_NEAR(red_at(32, 34), 90, 1);
}

TEST_F(LayerTest, SlicesMayComeInAnyOrderAndLate) {
  FrameMaker next;
  layer_.slice_arrived(next.make_slice(2, 1, 2, 200), ChromaLocation::unspecified, true);
  layer_.slice_arrived(next.make_slice(2, 0, 2, 100), ChromaLocation::unspecified, false);
  ASSERT_EQ(layer_.upload(next.make(2, 90)), Layer::Upload::done);
  present();
  EXPECT_NEAR(red_at(32, 2), 90, 1);
  EXPECT_NEAR(red_at(32, 34), 90, 1);
}

TEST_F(LayerTest, AFrameThatNeverBecomesCompleteIsForgotten) {
  FrameMaker given_up;
  layer_.slice_arrived(given_up.make_slice(2, 0, 2, 200), ChromaLocation::unspecified, true);
  layer_.slice_arrived(given_up.make_slice(3, 1, 2, 200), ChromaLocation::unspecified, true);
  ASSERT_EQ(layer_.upload(frames_.make(4, 90)), Layer::Upload::done);
  present();
  EXPECT_NEAR(red_at(32, 2), 90, 1);
  layer_.slice_arrived(given_up.make_slice(5, 0, 2, 200), ChromaLocation::unspecified, true);
  layer_.forget_memory();
  present();
  EXPECT_NEAR(red_at(32, 2), 90, 1);
}

TEST_F(LayerTest, TheNextFrameReleasesTheOneBefore) {
  ASSERT_EQ(layer_.upload(frames_.make(1)), Layer::Upload::done);
  ASSERT_EQ(layer_.upload(frames_.make(2)), Layer::Upload::done);
  EXPECT_EQ(frames_.returned(), Returned{1});
}

TEST_F(LayerTest, KeepsItsPictureWhenTheMemoryIsForgotten) {
  ASSERT_EQ(layer_.upload(frames_.make(1, 200)), Layer::Upload::done);
  layer_.forget_memory();
  EXPECT_EQ(frames_.returned(), Returned{1});
  present();
  EXPECT_NEAR(red_at(32, 18), 200, 1);
}

TEST_F(LayerTest, RefusesBytesAndKeepsItsPicture) {
  ASSERT_EQ(layer_.upload(frames_.make(1, 200)), Layer::Upload::done);
  FrameMaker bytes(PixelFormat::bytes);
  EXPECT_EQ(layer_.upload(bytes.make(2)), Layer::Upload::not_a_picture);
  present();
  EXPECT_NEAR(red_at(32, 18), 200, 1);
  layer_.forget_memory();
  EXPECT_EQ(bytes.returned(), Returned{2});
}

TEST_F(LayerTest, ShowsNoFrameThatItsSenderMayHaveOverwritten) {
  ASSERT_EQ(layer_.upload(frames_.make(1, 50)), Layer::Upload::done);
  FrameMaker ended;
  ended.withdraw();
  ASSERT_EQ(layer_.upload(ended.make(2, 200)), Layer::Upload::withdrawn);
  EXPECT_FALSE(layer_.has_picture());
  present();
  EXPECT_NE(red_at(32, 18), 200);
  ASSERT_EQ(layer_.upload(frames_.make(3, 90)), Layer::Upload::done);
  EXPECT_EQ(ended.returned(), Returned{2});
  present();
  EXPECT_NEAR(red_at(32, 18), 90, 1);
}

TEST_F(LayerTest, DoesNotCallAFrameTornThatWasWithdrawnLater) {
  ASSERT_EQ(layer_.upload(frames_.make(1, 50)), Layer::Upload::done);
  std::ranges::fill(frames_.bytes(), std::byte{200});
  frames_.withdraw();
  layer_.forget_memory();
  EXPECT_EQ(statistics_.counts().frames_torn, 0U);
}

TEST_F(LayerTest, NoticesAPictureThatChangesWhileItIsHeld) {
  ASSERT_EQ(layer_.upload(frames_.make(1)), Layer::Upload::done);
  layer_.forget_memory();
  EXPECT_EQ(statistics_.counts().frames_checked, 1U);
  EXPECT_EQ(statistics_.counts().frames_torn, 0U);
  ASSERT_EQ(layer_.upload(frames_.make(2)), Layer::Upload::done);
  frames_.bytes()[100] ^= std::byte{1};
  layer_.forget_memory();
  EXPECT_EQ(statistics_.counts().frames_checked, 2U);
  EXPECT_EQ(statistics_.counts().frames_torn, 1U);
}

/// With a driver that pins no memory, frames are copied into buffers that the GPU gives back.
TEST_F(LayerTest, SaysWhyNoBufferCameBack) {
  for (const auto& [wait, expected] :
       {std::pair{&wait_fails, Layer::Upload::gpu_is_lost}, std::pair{&wait_times_out, Layer::Upload::gpu_hangs}}) {
    std::optional<Layer> layer;
    {
      const test::Substitute<int> unpinned(GLAD_GL_AMD_pinned_memory, 0);
      const test::Substitute<GetString> gpu(glad_glGetString, names_a_gpu);
      layer.emplace(painters_, false, statistics_, Quality::fast);
    }
    for (std::uint64_t i = 0; i < 3; ++i) {
      ASSERT_EQ(layer->upload(frames_.make(i)), Layer::Upload::done);
    }
    const test::Substitute<ClientWaitSync> waiting(glad_glClientWaitSync, wait);
    EXPECT_EQ(layer->upload(frames_.make(3)), expected);
  }
}

class GoodLayer : public testing::Test {
 protected:
  /// Draws in the middle of the surface.
  void draw(Size size, std::int64_t now_ns) {
    const int width = static_cast<int>(size.width);
    surface_.begin();
    layer_.draw({(64 - width) / 2, 0, width, static_cast<int>(size.height)}, surface_.size(), now_ns);
  }
  [[nodiscard]] int red_in_the_middle() {
    const Image picture = surface_.capture({});
    return std::to_integer<int>(picture.pixels.at((18 * 64 + 32) * 4));
  }

  AttachedHeadless attached_{{64, 36}};
  Headless& surface_ = attached_.surface;
  Statistics statistics_;
  Painters painters_;
  Layer layer_{painters_, false, statistics_, Quality::good};
};

TEST_F(GoodLayer, IsDrawnWellFromTheFirstFrameOn) {
  FrameMaker frames;
  ASSERT_EQ(layer_.upload(frames.make(1, 90)), Layer::Upload::done);
  draw({64, 36}, 0);
  EXPECT_EQ(layer_.quality(), Quality::good);
  EXPECT_FALSE(layer_.is_provisional());
  EXPECT_NEAR(red_in_the_middle(), 90, 1);
}

/// Every new size compiles shaders.
TEST_F(GoodLayer, IsDrawnFastWhileItsSizeChanges) {
  FrameMaker frames;
  ASSERT_EQ(layer_.upload(frames.make(1, 90)), Layer::Upload::done);
  draw({64, 36}, 0);
  std::int64_t now_ns = 0;
  for (std::uint32_t width = 63; width > 58; --width) {
    draw({width, 36}, now_ns += Layer::calm_ns / 2);
    EXPECT_EQ(layer_.quality(), Quality::fast);
    EXPECT_TRUE(layer_.is_provisional());
  }
  draw({59, 36}, now_ns + Layer::calm_ns - 1);
  EXPECT_TRUE(layer_.is_provisional());
  draw({59, 36}, now_ns + Layer::calm_ns);
  EXPECT_EQ(layer_.quality(), Quality::good);
  EXPECT_FALSE(layer_.is_provisional());
  draw({59, 36}, now_ns + Layer::calm_ns + 1);
  EXPECT_FALSE(layer_.is_provisional());
}

GLenum GLAD_API_PTR is_incomplete(GLuint, GLenum) {
  return GL_FRAMEBUFFER_UNSUPPORTED;
}

/// A picture that is cut needs a texture on its way.
TEST_F(GoodLayer, SaysWhyItCannotBeDrawnAndLeavesOthersAlone) {
  FrameMaker frames;
  ASSERT_EQ(layer_.upload(frames.make(1, 90)), Layer::Upload::done);
  {
    const test::Substitute<decltype(glad_glCheckNamedFramebufferStatus)> no_memory(glad_glCheckNamedFramebufferStatus,
                                                                                   is_incomplete);
    surface_.begin();
    layer_.draw({-32, -18, 128, 72}, {64, 36}, 0);
  }
  EXPECT_TRUE(layer_.cannot_be_drawn());
  const auto failure = layer_.take_failure();
  ASSERT_TRUE(failure);
  EXPECT_EQ(std::string(failure->what()), "libplacebo cannot draw this picture; take --quality fast");
  draw({64, 36}, 0);
  EXPECT_EQ(red_in_the_middle(), 0) << "it was given up";
  EXPECT_FALSE(layer_.take_failure()) << "it is said once";
  Layer other(painters_, false, statistics_, Quality::good);
  ASSERT_EQ(other.upload(frames.make(2, 90)), Layer::Upload::done);
  other.draw({0, 0, 64, 36}, {64, 36}, 0);
  EXPECT_NEAR(red_in_the_middle(), 90, 1);
  ASSERT_EQ(layer_.upload(frames.make(3, 60)), Layer::Upload::done);
  draw({64, 36}, 0);
  EXPECT_NEAR(red_in_the_middle(), 60, 1) << "the next frame may be another one";
}

/// PQ has half of the full scale at 92 cd/m² (SMPTE ST 2084), which is not the middle of an SDR screen.
TEST_F(GoodLayer, HdrIsDrawnWellInEveryQuality) {
  Layer fast(painters_, false, statistics_, Quality::fast);
  FrameMaker frames;
  frames.colour = {.transfer = ColourTransfer::pq, .primaries = ColourPrimaries::bt2020};
  ASSERT_EQ(fast.upload(frames.make(1, 64)), Layer::Upload::done);
  surface_.begin();
  fast.draw({0, 0, 64, 36}, {64, 36}, 0);
  EXPECT_EQ(fast.quality(), Quality::good);
  EXPECT_GT(std::abs(red_in_the_middle() - 64), 5);
}

TEST(Quality, DependsOnTheRendererIfNothingIsAskedFor) {
  EXPECT_EQ(quality_for({}, {}, true), Quality::fast);
  EXPECT_EQ(quality_for({}, {}, false), Quality::good);
  EXPECT_EQ(quality_for(Quality::fast, {}, false), Quality::fast);
  EXPECT_EQ(quality_for(Quality::good, {}, true), Quality::good);
  EXPECT_EQ(quality_for(Quality::fast, {.transfer = ColourTransfer::hlg}, true), Quality::good);
}

TEST_F(LayerTest, WarmingUpLeavesNoPicture) {
  layer_.warm_up(surface_.size());
  EXPECT_FALSE(layer_.has_picture());
  ASSERT_EQ(layer_.upload(frames_.make(1, 90)), Layer::Upload::done);
  layer_.warm_up(surface_.size());
  present();
  EXPECT_NEAR(red_at(32, 18), 90, 1);
}

}  // namespace
}  // namespace framewire
