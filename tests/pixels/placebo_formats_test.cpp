// PlaceboPainter at 1:1: every pixel format, matrix, range and chroma location against the reference.
#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "tests/pixels/placebo_test.hpp"
#include "tests/pixels/reference.hpp"

namespace framewire {
namespace {

/// Values of 8 bits are only rounded. Dithering of 10 bits adds up to a code, and so gives any of both neighbours.
double tolerance(PixelFormat format) {
  return info(format).depth == 8 ? 1.0 : 1.5;
}

class PlaceboFormats : public PlaceboTest, public ::testing::WithParamInterface<std::string> {
 protected:
  static PixelFormat format() { return pixel_format_from_name(GetParam()).value(); }

  /// The largest difference from the reference, in 1/255.
  static double difference(const Picture& picture) {
    const Size size{picture.layout.width, picture.layout.height};
    const std::vector<std::byte> pixels = drawn(picture, size);
    double largest = 0;
    for (std::uint32_t i = 0; i < size.width * size.height; ++i) {
      const auto expected =
          reference_pixel(picture.layout, picture.bytes, picture.colour, static_cast<int>(i % size.width),
                          static_cast<int>(i / size.width), picture.chroma_location);
      for (std::size_t channel = 0; channel < 4; ++channel) {
        const double seen = std::to_integer<int>(pixels[std::size_t{i} * 4 + channel]);
        largest = std::max(largest, std::abs(seen - expected.at(channel)));
      }
    }
    return largest;
  }
};

TEST_P(PlaceboFormats, MatchTheReferenceInEveryMatrixAndRange) {
  using enum ColourMatrix;
  const std::vector<ColourMatrix> matrices =
      info(format()).is_yuv ? std::vector{bt709, smpte170m, bt470bg, bt2020nc, fcc, smpte240m, unspecified}
                            : std::vector{rgb};
  Picture picture(format(), {37, 23});
  fill_with_content(format(), picture.bytes, 1);
  for (const ColourMatrix matrix : matrices) {
    for (const ColourRange range : {ColourRange::limited, ColourRange::full, ColourRange::unspecified}) {
      picture.colour = {.matrix = matrix, .range = range};
      EXPECT_LE(difference(picture), tolerance(format())) << name(matrix) << " " << name(range);
    }
  }
}

TEST_P(PlaceboFormats, MatchTheReferenceWhereverTheChromaLies) {
  using enum ChromaLocation;
  for (const ChromaLocation location : {unspecified, left, center, topleft, top, bottomleft, bottom}) {
    for (const Size size : {Size{37, 23}, Size{1, 1}, Size{2, 2}, Size{1, 5}, Size{3, 1}, Size{64, 48}}) {
      Picture picture(format(), size);
      picture.chroma_location = location;
      fill_with_content(format(), picture.bytes, size.width);
      EXPECT_LE(difference(picture), tolerance(format())) << name(location) << " " << size.width << "x" << size.height;
    }
  }
}

TEST_P(PlaceboFormats, MatchTheReferenceInEveryTransferThatStaysAsCoded) {
  using enum ColourTransfer;
  Picture picture(format(), {16, 16});
  fill_with_content(format(), picture.bytes, 7);
  for (const ColourTransfer transfer :
       {bt709, gamma22, gamma28, smpte170m, smpte240m, iec61966_2_4, bt1361, srgb, bt2020_10, bt2020_12}) {
    for (const ColourPrimaries primaries :
         {ColourPrimaries::bt709, ColourPrimaries::unspecified, ColourPrimaries::smpte170m}) {
      picture.colour = {.transfer = transfer, .primaries = primaries};
      EXPECT_LE(difference(picture), tolerance(format())) << name(transfer) << " " << name(primaries);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Pixels, PlaceboFormats, ::testing::ValuesIn(format_names()),
                         [](const auto& parameter) { return parameter.param; });

}  // namespace
}  // namespace framewire
