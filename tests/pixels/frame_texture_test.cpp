// Frame textures except for conversion: placement, scaling, errors, release.
#include <algorithm>
#include <cstdlib>
#include <vector>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "gl/frame_texture.hpp"
#include "gl/offscreen_target.hpp"
#include "tests/base/substitute.hpp"
#include "tests/pixels/gl_test.hpp"
#include "tests/pixels/reference.hpp"

namespace framewire {
namespace {

using Rgba = std::array<int, 4>;

/// A frame in ordinary memory.
struct Frame {
  Frame(PixelFormat format, std::uint32_t width, std::uint32_t height)
      : layout(packed_layout(format, width, height)), bytes(layout.size_bytes) {}

  void set(std::uint32_t x, std::uint32_t y, const Rgba& colour) {
    for (std::size_t i = 0; i < 4; ++i) {
      bytes[(std::size_t{y} * layout.width + x) * 4 + i] = static_cast<std::byte>(colour.at(i));
    }
  }
  [[nodiscard]] FrameView view() const { return {layout, {}, bytes, nullptr, 0}; }

  FrameLayout layout;
  std::vector<std::byte> bytes;
};

/// Each pixel encodes its position: red is x, green is y.
Frame coordinates(std::uint32_t width, std::uint32_t height) {
  Frame frame(PixelFormat::rgba, width, height);
  for (std::uint32_t y = 0; y < height; ++y) {
    for (std::uint32_t x = 0; x < width; ++x) {
      frame.set(x, y, {static_cast<int>(x), static_cast<int>(y), 7, 255});
    }
  }
  return frame;
}

class FrameTextureTest : public GlTest {
 protected:
  static constexpr Size target_size{64, 48};

  /// Clears to 99, draws, and keeps the result in window orientation.
  void draw(FrameTexture& texture, const Rectangle& where, bool flip_y = false, Alpha alpha = Alpha::premultiplied) {
    target_.bind();
    constexpr float gray = 99.0F / 255.0F;
    glClearColor(gray, gray, gray, gray);
    glClear(GL_COLOR_BUFFER_BIT);
    painter_.draw(texture.painted(), where, flip_y, alpha);
    target_.read_rgba(pixels_, flip_y ? OffscreenTarget::RowOrder::top_down : OffscreenTarget::RowOrder::bottom_up);
  }

  /// Column `x`, row `y` from the top.
  [[nodiscard]] Rgba pixel(std::uint32_t x, std::uint32_t y) const {
    Rgba colour{};
    for (std::size_t i = 0; i < 4; ++i) {
      colour.at(i) = std::to_integer<int>(pixels_[(std::size_t{y} * target_size.width + x) * 4 + i]);
    }
    return colour;
  }

  [[nodiscard]] const std::vector<std::byte>& pixels() const { return pixels_; }

  static constexpr Rgba background{99, 99, 99, 99};

 private:
  OffscreenTarget target_{target_size};
  FramePainter painter_;
  std::vector<std::byte> pixels_ = std::vector<std::byte>(std::size_t{target_size.width} * target_size.height * 4);
};

TEST_F(FrameTextureTest, AFrameThatArrivesBitByBitLooksAsOneThatCameAtOnce) {
  std::uint32_t number = 0;
  for (const UploadMethod method : {UploadMethod::client_pointer, UploadMethod::persistent_buffer}) {
    for (const PixelFormatInfo& format : pixel_formats()) {
      if (format.format == PixelFormat::bytes) {
        continue;
      }
      SCOPED_TRACE(std::string(format.name) + " by " + name(method));
      Frame frame(format.format, 38, 26);
      std::ranges::generate(frame.bytes, [&number] { return static_cast<std::byte>((number += 2654435761U) >> 24U); });
      FrameTexture whole(method);
      ASSERT_TRUE(whole.upload(frame.view()));
      draw(whole, {0, 0, 64, 48});
      const std::vector<std::byte> expected = pixels();
      FrameTexture texture(method);
      const Frame before(format.format, 38, 26);
      ASSERT_TRUE(texture.upload(before.view()));
      draw(texture, {0, 0, 64, 48});
      const std::vector<std::byte> old = pixels();
      Frame arriving = before;
      for (std::uint64_t arrived = 0; arrived < frame.bytes.size(); arrived += 1 + arrived / 3) {
        std::copy_n(frame.bytes.begin(), arrived, arriving.bytes.begin());
        ASSERT_TRUE(texture.upload_arrived(arriving.view(), arrived));
      }
      draw(texture, {0, 0, 64, 48});
      EXPECT_EQ(pixels(), old) << "it is not complete";
      arriving.bytes = frame.bytes;
      ASSERT_TRUE(texture.upload(arriving.view()));
      draw(texture, {0, 0, 64, 48});
      EXPECT_EQ(pixels(), expected);
    }
  }
}

TEST_F(FrameTextureTest, KeepsTheDepthsOfAFrameAsTheyAre) {
  Frame frame(PixelFormat::rgba_grayf32le, 19, 7);
  std::uint32_t number = 1;
  std::ranges::generate(frame.bytes, [&number] { return static_cast<std::byte>((number *= 48271U) >> 20U); });
  FrameTexture texture;
  ASSERT_TRUE(texture.upload(frame.view()));
  EXPECT_EQ(texture.painted().texture_count, 1U);
  ASSERT_NE(texture.painted().depth_texture, 0U);
  std::vector<std::byte> depths(std::size_t{19} * 7 * 4), colours(depths.size());
  const auto size = static_cast<GLsizei>(depths.size());
  glGetTextureImage(texture.painted().depth_texture, 0, GL_RED, GL_FLOAT, size, depths.data());
  glGetTextureImage(texture.painted().textures[0], 0, GL_RGBA, GL_UNSIGNED_BYTE, size, colours.data());
  EXPECT_TRUE(std::ranges::equal(depths, std::span(frame.bytes).last(depths.size())));
  EXPECT_TRUE(std::ranges::equal(colours, std::span(frame.bytes).first(colours.size())));
  draw(texture, {0, 0, 19, 7}, false, Alpha::opaque);
  EXPECT_EQ(pixel(3, 48 - 7)[0], std::to_integer<int>(frame.bytes[12]));
  ASSERT_TRUE(texture.upload(coordinates(19, 7).view()));
  EXPECT_EQ(texture.painted().depth_texture, 0U) << "the next frame has none";
}

TEST_F(FrameTextureTest, AFrameThatIsGivenUpLeavesThePictureAlone) {
  FrameTexture texture;
  const Frame first = coordinates(20, 10);
  ASSERT_TRUE(texture.upload(first.view()));
  Frame second(PixelFormat::rgba, 20, 10);
  ASSERT_TRUE(texture.upload_arrived(second.view(), 400));
  texture.forget_arrived();
  draw(texture, {0, 0, 20, 10});
  EXPECT_EQ(pixel(3, 38 + 2), (Rgba{3, 2, 7, 255}));
  ASSERT_TRUE(texture.upload_arrived(first.view(), 400));
  second.layout.size_bytes = 1;  // no picture
  EXPECT_FALSE(texture.upload(second.view()));
  draw(texture, {0, 0, 20, 10});
  EXPECT_EQ(pixel(3, 38 + 2), (Rgba{3, 2, 7, 255}));
}

TEST_F(FrameTextureTest, PutsTheTopRowAtTheTopOfTheRectangle) {
  FrameTexture texture;
  ASSERT_TRUE(texture.upload(coordinates(20, 10).view()));
  EXPECT_EQ(texture.frame_size(), (Size{20, 10}));
  draw(texture, {5, 8, 20, 10});  // rows 30 to 39 from the top
  EXPECT_EQ(pixel(5, 30), (Rgba{0, 0, 7, 255}));
  EXPECT_EQ(pixel(24, 39), (Rgba{19, 9, 7, 255}));
  for (const auto& [x, y] : {std::pair{4U, 30U}, {25U, 39U}, {5U, 29U}, {24U, 40U}}) {
    EXPECT_EQ(pixel(x, y), background) << x << " " << y;
  }
}

TEST_F(FrameTextureTest, FlippedDrawingReadBackFlippedIsTheSamePicture) {
  FrameTexture texture;
  ASSERT_TRUE(texture.upload(coordinates(64, 48).view()));
  draw(texture, {0, 0, 64, 48}, true);
  EXPECT_EQ(pixel(0, 0), (Rgba{0, 0, 7, 255}));
  EXPECT_EQ(pixel(63, 47), (Rgba{63, 47, 7, 255}));
}

TEST_F(FrameTextureTest, ShowsThePartThatIsInsideTheFramebuffer) {
  FrameTexture texture;
  ASSERT_TRUE(texture.upload(coordinates(200, 150).view()));
  draw(texture, {-10, -20, 200, 150});  // the frame's row 149 is at y = -20, so row 129 is the lowest visible
  EXPECT_EQ(pixel(0, 47), (Rgba{10, 129, 7, 255}));
  EXPECT_EQ(pixel(63, 0), (Rgba{73, 82, 7, 255}));
}

TEST_F(FrameTextureTest, ShowsTheRightPartBeyondWhatAViewportCanHave) {
  FrameTexture texture;
  ASSERT_TRUE(texture.upload(coordinates(200, 150).view()));
  // 1024 times as large: the visible part lies inside one pixel of the frame, (100, 74).
  draw(texture, {-100 * 1024 - 480, -75 * 1024 - 480, 200 * 1024, 150 * 1024});
  const Rgba middle = pixel(32, 24);
  EXPECT_NEAR(middle.at(0), 100, 1);
  EXPECT_NEAR(middle.at(1), 74, 1);
}

TEST_F(FrameTextureTest, DrawsNothingOutsideOrWithoutAFrame) {
  FrameTexture texture;
  draw(texture, {0, 0, 64, 48});
  EXPECT_EQ(pixel(10, 10), background);
  EXPECT_EQ(texture.frame_size(), (Size{0, 0}));
  ASSERT_TRUE(texture.upload(coordinates(20, 10).view()));
  draw(texture, {-20, 0, 20, 10});
  draw(texture, {0, 0, 0, 10});
  EXPECT_EQ(pixel(0, 47), background);
}

TEST_F(FrameTextureTest, InterpolatesWhenItMakesLarger) {
  FrameTexture texture;
  Frame frame(PixelFormat::rgba, 16, 12);
  for (std::uint32_t y = 0; y < 12; ++y) {
    for (std::uint32_t x = 0; x < 16; ++x) {
      frame.set(x, y, {static_cast<int>(x * 16), static_cast<int>(y * 20), 0, 255});
    }
  }
  ASSERT_TRUE(texture.upload(frame.view()));
  draw(texture, {0, 0, 64, 48});  // four times
  for (const std::uint32_t at : {6U, 13U, 23U, 40U}) {
    EXPECT_NEAR(pixel(at, at).at(0), ((at + 0.5) / 4 - 0.5) * 16, 1.6) << at;
    EXPECT_NEAR(pixel(at, at).at(1), ((at + 0.5) / 4 - 0.5) * 20, 1.6) << at;
  }
}

/// Luma is 126 everywhere. U rises by 4 per chroma sample to the right, V downwards. So blue and red show where the
/// shader places each chroma sample.
TEST_F(FrameTextureTest, KeepsChromaInItsPlaceWhenScaled) {
  Frame frame(PixelFormat::nv12, 32, 24);
  std::fill(frame.bytes.begin(), frame.bytes.end(), std::byte{126});
  const PlaneLayout& chroma = frame.layout.planes.at(1);
  for (std::uint32_t y = 0; y < chroma.rows; ++y) {
    for (std::uint32_t x = 0; x < 16; ++x) {
      frame.bytes[chroma.offset_bytes + y * chroma.pitch_bytes + 2 * x] = static_cast<std::byte>(80 + 4 * x);
      frame.bytes[chroma.offset_bytes + y * chroma.pitch_bytes + 2 * x + 1] = static_cast<std::byte>(100 + 4 * y);
    }
  }
  struct Place {
    ChromaLocation location;
    double right, down;  // in luma samples
  };
  using enum ChromaLocation;
  std::optional<double> default_blue, default_red;
  FrameTexture texture;
  FrameView view = frame.view();
  view.colour = {.matrix = ColourMatrix::smpte170m, .range = ColourRange::full};
  for (const Place& place :
       {Place{unspecified, 0, 0.5}, Place{left, 0, 0.5}, Place{center, 0.5, 0.5}, Place{topleft, 0, 0},
        Place{top, 0.5, 0}, Place{bottomleft, 0, 1}, Place{bottom, 0.5, 1}}) {
    view.chroma_location = place.location;
    ASSERT_TRUE(texture.upload(view));
    draw(texture, {0, 0, 64, 48});
    double blue = 0, red = 0;  // differences; their means are finer than one pixel step
    int count = 0;
    for (std::uint32_t x = 8; x < 56; ++x) {
      for (std::uint32_t y = 8; y < 40; ++y) {
        const double u = 80 + 4 * ((x + 0.5) / 2 - 0.5 - place.right) / 2;
        const double v = 100 + 4 * ((y + 0.5) / 2 - 0.5 - place.down) / 2;
        ASSERT_NEAR(pixel(x, y).at(2), 126 + 1.772 * (u - 128), 2.5) << name(place.location) << " " << x << " " << y;
        ASSERT_NEAR(pixel(x, y).at(0), 126 + 1.402 * (v - 128), 2.5) << name(place.location) << " " << x << " " << y;
        blue += pixel(x, y).at(2) - (126 + 1.772 * (u - 128));
        red += pixel(x, y).at(0) - (126 + 1.402 * (v - 128));
        ++count;
      }
    }
    // Filters that round down have the same offset everywhere. Half a luma sample would be 1.8 and 1.4.
    default_blue = default_blue.value_or(blue / count);
    default_red = default_red.value_or(red / count);
    EXPECT_NEAR(blue / count, *default_blue, 0.3) << name(place.location);
    EXPECT_NEAR(red / count, *default_red, 0.3) << name(place.location);
  }
}

TEST_F(FrameTextureTest, TakesNewSizesAndFormats) {
  FrameTexture texture;
  ASSERT_TRUE(texture.upload(coordinates(20, 10).view()));
  Frame gray(PixelFormat::gray8, 64, 48);
  std::fill(gray.bytes.begin(), gray.bytes.end(), std::byte{40});
  ASSERT_TRUE(texture.upload(gray.view()));
  draw(texture, {0, 0, 64, 48});
  EXPECT_EQ(pixel(60, 40), (Rgba{40, 40, 40, 255}));
  ASSERT_TRUE(texture.upload(coordinates(64, 48).view()));
  draw(texture, {0, 0, 64, 48});
  EXPECT_EQ(pixel(60, 40), (Rgba{60, 40, 7, 255}));
}

TEST_F(FrameTextureTest, DrawsAlphaAsTheCallerSaysWhereThereIsAny) {
  FrameTexture texture;
  const auto drawn_pixel = [&](PixelFormat format, Alpha alpha, int side) {
    Frame frame(format, 8, 8);
    for (std::uint32_t i = 0; i < 64; ++i) {
      frame.set(i % 8, i / 8, {200, 100, 50, 102});
    }
    EXPECT_TRUE(texture.upload(frame.view()));
    draw(texture, {0, 48 - side, side, side}, false, alpha);
    return pixel(1, 1);
  };
  for (const int side : {8, 20, 5}) {
    EXPECT_EQ(drawn_pixel(PixelFormat::rgba, Alpha::straight, side), (Rgba{80, 40, 20, 102}));
    EXPECT_EQ(drawn_pixel(PixelFormat::bgra, Alpha::straight, side), (Rgba{20, 40, 80, 102}));
    EXPECT_EQ(drawn_pixel(PixelFormat::rgba, Alpha::premultiplied, side), (Rgba{200, 100, 50, 102}));
    EXPECT_EQ(drawn_pixel(PixelFormat::bgra, Alpha::opaque, side), (Rgba{50, 100, 200, 255}));
    EXPECT_EQ(drawn_pixel(PixelFormat::rgb0, Alpha::straight, side), (Rgba{200, 100, 50, 255}));
  }
}

TEST_F(FrameTextureTest, RefusesWhatIsNoPictureAndKeepsTheOneBefore) {
  FrameTexture texture;
  const Frame good = coordinates(64, 48);
  ASSERT_TRUE(texture.upload(good.view()));
  FrameView short_payload = good.view();
  short_payload.payload = short_payload.payload.first(good.bytes.size() - 1);
  FrameView no_picture = good.view();
  no_picture.layout = bytes_layout(good.bytes.size());
  FrameView wrong_plane = good.view();
  wrong_plane.layout.planes[0].offset_bytes = ~std::uint64_t{0} - 3;
  FrameView narrow_pitch = good.view();
  narrow_pitch.layout.planes[0].pitch_bytes = 12;
  for (const FrameView& bad : {short_payload, no_picture, wrong_plane, narrow_pitch}) {
    EXPECT_FALSE(texture.upload(bad));
  }
  const Frame wide(PixelFormat::gray8, 32768, 1);
  GLint max_side = 0;
  glGetIntegerv(GL_MAX_TEXTURE_SIZE, &max_side);
  EXPECT_EQ(texture.upload(wide.view()), max_side >= 32768);
  if (max_side < 32768) {
    draw(texture, {0, 0, 64, 48});
    EXPECT_EQ(pixel(63, 47), (Rgba{63, 47, 7, 255}));
  }
}

GLenum GLAD_API_PTR has_no_memory() {
  return GL_OUT_OF_MEMORY;
}

TEST_F(FrameTextureTest, KeepsThePictureIfThereIsNoMemoryForAnother) {
  for (const auto method : {UploadMethod::client_pointer, UploadMethod::persistent_buffer}) {
    FrameTexture texture(method);
    ASSERT_TRUE(texture.upload(coordinates(64, 48).view()));
    {
      const test::Substitute<decltype(glad_glGetError)> full(glad_glGetError, has_no_memory);
      EXPECT_FALSE(texture.upload(coordinates(20, 10).view()));
    }
    EXPECT_EQ(texture.frame_size(), (Size{64, 48}));
    draw(texture, {0, 0, 64, 48});
    EXPECT_EQ(pixel(63, 47), (Rgba{63, 47, 7, 255}));
    ASSERT_TRUE(texture.upload(coordinates(20, 10).view()));
    EXPECT_EQ(texture.frame_size(), (Size{20, 10}));
  }
}

TEST_F(FrameTextureTest, PersistentBufferNeedsThePayloadNoLongerThanTheCall) {
  FrameTexture texture(UploadMethod::persistent_buffer);
  for (int i = 0; i < 8; ++i) {
    Frame frame = coordinates(64, 48);
    frame.set(0, 0, {i, 200, 200, 255});
    ASSERT_TRUE(texture.upload(frame.view()));
    EXPECT_TRUE(texture.upload_done());
    std::fill(frame.bytes.begin(), frame.bytes.end(), std::byte{1});
    draw(texture, {0, 0, 64, 48});
    EXPECT_EQ(pixel(0, 0), (Rgba{i, 200, 200, 255}));
  }
}

class PinnedUploads : public FrameTextureTest {
 protected:
  void SetUp() override {
    if (!WrappedBlocks::takes_host_memory()) {
      GTEST_SKIP() << "the driver has no GL_AMD_pinned_memory";
    }
  }

  static std::shared_ptr<const Block> block_with(const Frame& frame, std::uint64_t offset_bytes) {
    auto block = HostBlock::create("test", offset_bytes + frame.bytes.size());
    std::copy(frame.bytes.begin(), frame.bytes.end(),
              block->bytes().begin() + static_cast<std::ptrdiff_t>(offset_bytes));
    return block;
  }
  static FrameView view_of(const Frame& frame, const std::shared_ptr<const Block>& block, std::uint64_t offset_bytes) {
    return {frame.layout,
            {},
            std::span<const std::byte>(block->host()->bytes()).subspan(offset_bytes, frame.bytes.size()),
            &block,
            offset_bytes};
  }
};

TEST_F(PinnedUploads, AreDoneAfterTheFence) {
  FrameTexture texture(UploadMethod::pinned_memory);
  const Frame frame = coordinates(64, 48);
  const auto block = block_with(frame, 4096);
  ASSERT_TRUE(texture.upload(view_of(frame, block, 4096)));
  EXPECT_EQ(texture.method(), UploadMethod::pinned_memory);
  EXPECT_EQ(texture.wait_upload_done(monotonic_ns() + 10 * ns_per_s), GpuWait::done);
  EXPECT_TRUE(texture.upload_done());
  draw(texture, {0, 0, 64, 48});
  EXPECT_EQ(pixel(63, 47), (Rgba{63, 47, 7, 255}));
}

TEST_F(PinnedUploads, SeeWhatIsWrittenBetweenThem) {
  FrameTexture texture(UploadMethod::pinned_memory);
  const Frame frame = coordinates(64, 48);
  const auto block = block_with(frame, 0);
  for (int i = 1; i < 5; ++i) {
    block->host()->bytes()[0] = static_cast<std::byte>(i * 10);
    ASSERT_TRUE(texture.upload(view_of(frame, block, 0)));
    ASSERT_EQ(texture.wait_upload_done(monotonic_ns() + 10 * ns_per_s), GpuWait::done);
    draw(texture, {0, 0, 64, 48});
    EXPECT_EQ(pixel(0, 0).at(0), i * 10);
  }
}

TEST_F(PinnedUploads, FallBackForMemoryOutsideABlock) {
  FrameTexture texture(UploadMethod::pinned_memory);
  const Frame frame = coordinates(64, 48);
  ASSERT_TRUE(texture.upload(frame.view()));
  EXPECT_NE(texture.method(), UploadMethod::pinned_memory);
  const auto block = block_with(frame, 0);
  FrameView wrong = view_of(frame, block, 0);
  wrong.payload = frame.bytes;  // claims to be in the block, but is not
  ASSERT_TRUE(texture.upload(wrong));
  EXPECT_NE(texture.method(), UploadMethod::pinned_memory);
  ASSERT_TRUE(texture.upload(view_of(frame, block, 0)));
  EXPECT_EQ(texture.method(), UploadMethod::pinned_memory);
}

TEST_F(PinnedUploads, KeepABlockWhileItIsOfferedAndNoLonger) {
  FrameTexture texture(UploadMethod::pinned_memory);
  const Frame frame = coordinates(64, 48);
  auto first = block_with(frame, 0);
  ASSERT_TRUE(texture.upload(view_of(frame, first, 0)));
  const std::weak_ptr<const Block> watched = first;
  first.reset();
  EXPECT_FALSE(watched.expired()) << "the GPU may still read it";
  const auto second = block_with(frame, 0);
  ASSERT_TRUE(texture.upload(view_of(frame, second, 0)));
  EXPECT_TRUE(watched.expired()) << "nobody offers it any more";
  draw(texture, {0, 0, 64, 48});
  EXPECT_EQ(pixel(63, 47), (Rgba{63, 47, 7, 255}));
  EXPECT_EQ(second.use_count(), 2);
  texture.forget_blocks();
  EXPECT_EQ(second.use_count(), 1);
}

TEST_F(PinnedUploads, KeepAtMostFourBlocks) {
  FrameTexture texture(UploadMethod::pinned_memory);
  const Frame frame = coordinates(64, 48);
  std::vector<std::shared_ptr<const Block>> blocks;
  for (int i = 0; i < 6; ++i) {
    blocks.push_back(block_with(frame, 0));
    ASSERT_TRUE(texture.upload(view_of(frame, blocks.back(), 0)));
  }
  EXPECT_EQ(std::ranges::count_if(blocks, [](const auto& block) { return block.use_count() == 2; }), 4);
  EXPECT_EQ(blocks.front().use_count(), 1);
}

}  // namespace
}  // namespace framewire
