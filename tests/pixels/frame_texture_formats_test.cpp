// Every pixel format, matrix, range and upload method against the reference.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "gl/frame_texture.hpp"
#include "gl/offscreen_target.hpp"
#include "tests/pixels/gl_test.hpp"
#include "tests/pixels/reference.hpp"

namespace framewire {
namespace {

/// A frame inside a block of host memory, mapped read-only as in a viewer.
struct Placed {
  Placed(const FrameLayout& layout, std::uint64_t offset_bytes, std::uint32_t seed) {
    const auto writable = HostBlock::create("test", offset_bytes + layout.size_bytes + 4096);
    fill_with_content(layout.format, writable->bytes().subspan(offset_bytes), seed);
    block = HostBlock::map_read_only(FileDescriptor(::fcntl(writable->memfd(), F_DUPFD_CLOEXEC, 0)),
                                     writable->bytes().size());
    view = {layout,
            {},
            std::span<const std::byte>(block->host()->bytes()).subspan(offset_bytes, layout.size_bytes),
            &block,
            offset_bytes};
  }

  std::shared_ptr<const Block> block;
  FrameView view;
};

std::vector<UploadMethod> available_methods() {
  std::vector<UploadMethod> methods = {UploadMethod::persistent_buffer, UploadMethod::client_pointer};
  if (WrappedBlocks::takes_host_memory()) {
    methods.push_back(UploadMethod::pinned_memory);
  }
  return methods;
}

std::vector<Colour> colours_for(PixelFormat format) {
  using enum ColourMatrix;
  const std::vector<ColourMatrix> matrices =
      info(format).is_yuv ? std::vector{bt709, smpte170m, bt470bg, bt2020nc, fcc, smpte240m, unspecified}
                          : std::vector{rgb};
  std::vector<Colour> colours;
  for (const ColourMatrix matrix : matrices) {
    for (const ColourRange range : {ColourRange::limited, ColourRange::full, ColourRange::unspecified}) {
      colours.push_back({.matrix = matrix, .range = range});
    }
  }
  return colours;
}

/// The largest difference between `pixels` and the reference, in 1/255.
double largest_difference(const FrameView& view, std::span<const std::byte> pixels) {
  double largest = 0;
  for (std::uint32_t y = 0; y < view.layout.height; ++y) {
    for (std::uint32_t x = 0; x < view.layout.width; ++x) {
      const auto expected = reference_pixel(view.layout, view.payload, view.colour, static_cast<int>(x),
                                            static_cast<int>(y), view.chroma_location);
      for (std::size_t i = 0; i < 4; ++i) {
        const double seen = std::to_integer<int>(pixels[(std::size_t{y} * view.layout.width + x) * 4 + i]);
        largest = std::max(largest, std::abs(seen - expected.at(i)));
      }
    }
  }
  return largest;
}

double drawn_difference(FrameTexture& texture, const FrameView& view) {
  OffscreenTarget target({view.layout.width, view.layout.height});
  target.bind();
  EXPECT_TRUE(texture.upload(view));
  FramePainter().draw(texture.painted(),
                      {0, 0, static_cast<int>(view.layout.width), static_cast<int>(view.layout.height)}, false);
  std::vector<std::byte> pixels(target.size_bytes());
  target.read_rgba(pixels);
  EXPECT_TRUE(texture.upload_done());
  return largest_difference(view, pixels);
}

class EveryFormat : public GlTest, public ::testing::WithParamInterface<std::string> {
 protected:
  static PixelFormat format() { return pixel_format_from_name(GetParam()).value(); }
};

TEST_P(EveryFormat, MatchesTheReferenceInEveryMatrixAndRange) {
  FrameTexture texture;
  Placed placed(packed_layout(format(), 37, 23), 0, 1);
  for (const Colour& colour : colours_for(format())) {
    placed.view.colour = colour;
    EXPECT_LE(drawn_difference(texture, placed.view), 1.0) << name(colour.matrix) << " " << name(colour.range);
  }
}

TEST_P(EveryFormat, MatchesTheReferenceWhereverItLies) {
  struct Place {
    std::uint32_t extra_pitch_bytes;
    std::uint64_t first_offset_bytes, gap_bytes, offset_in_block_bytes;
  };
  // Rows aligned as decoders do; whole texels; partial texels; two-byte components at odd addresses.
  constexpr Place places[] = {{0, 0, 0, 4096}, {64, 0, 64, 0}, {12, 24, 12, 8192 + 24}, {5, 0, 2, 64}, {8, 3, 8, 129}};
  for (const UploadMethod method : available_methods()) {
    FrameTexture texture(method);
    for (const Place& place : places) {
      const auto layout =
          padded_layout(format(), 37, 23, place.extra_pitch_bytes, place.first_offset_bytes, place.gap_bytes);
      const Placed placed(layout, place.offset_in_block_bytes, place.extra_pitch_bytes);
      EXPECT_LE(drawn_difference(texture, placed.view), 1.0)
          << name(method) << ", pitch + " << place.extra_pitch_bytes << ", block + " << place.offset_in_block_bytes;
      EXPECT_EQ(texture.method(), method);
    }
  }
}

TEST_P(EveryFormat, MatchesTheReferenceWhereverTheChromaLies) {
  using enum ChromaLocation;
  FrameTexture texture;
  for (const ChromaLocation location : {unspecified, left, center, topleft, top, bottomleft, bottom}) {
    for (const Size size : {Size{37, 23}, Size{1, 1}, Size{16, 8}}) {
      Placed placed(packed_layout(format(), size.width, size.height), 0, 5);
      placed.view.chroma_location = location;
      EXPECT_LE(drawn_difference(texture, placed.view), 1.0) << name(location) << " " << size.width;
    }
  }
}

TEST_P(EveryFormat, MatchesTheReferenceInSmallAndEvenSizes) {
  FrameTexture texture;
  for (const Size size : {Size{1, 1}, Size{2, 2}, Size{1, 5}, Size{3, 1}, Size{64, 48}}) {
    const Placed placed(packed_layout(format(), size.width, size.height), 0, size.width);
    EXPECT_LE(drawn_difference(texture, placed.view), 1.0) << size.width << "x" << size.height;
  }
}

INSTANTIATE_TEST_SUITE_P(Pixels, EveryFormat, ::testing::ValuesIn(format_names()),
                         [](const auto& parameter) { return parameter.param; });

class FrameTextureExact : public GlTest {};

TEST_F(FrameTextureExact, BytesOfRgbaAreNotChangedAtAll) {
  for (const UploadMethod method : available_methods()) {
    FrameTexture texture(method);
    const Placed placed(packed_layout(PixelFormat::rgba, 131, 57), 4096, 7);
    OffscreenTarget target({131, 57});
    target.bind();
    ASSERT_TRUE(texture.upload(placed.view));
    FramePainter().draw(texture.painted(), {0, 0, 131, 57}, false);
    std::vector<std::byte> pixels(target.size_bytes());
    target.read_rgba(pixels);
    EXPECT_EQ(std::memcmp(pixels.data(), placed.view.payload.data(), pixels.size()), 0) << name(method);
  }
}

TEST_F(FrameTextureExact, UnspecifiedMatrixIsBt709FromTheSize) {
  FrameTexture texture;
  Placed placed(packed_layout(PixelFormat::yuv444p, 9, 720), 0, 3);
  EXPECT_LE(drawn_difference(texture, placed.view), 1.0);
  placed.view.colour.matrix = ColourMatrix::bt709;
  EXPECT_LE(drawn_difference(texture, placed.view), 1.0);
}

}  // namespace
}  // namespace framewire
