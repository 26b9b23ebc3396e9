#include "frame/colour.hpp"

#include <gtest/gtest.h>

#include "frame/frame_layout.hpp"

namespace framewire {
namespace {

TEST(Colour, NamesComeBackAsTheValuesTheyWere) {
  for (int number = 0; number <= 6; ++number) {
    const auto location = static_cast<ChromaLocation>(number);
    EXPECT_EQ(chroma_location_from_name(name(location)), location);
    EXPECT_EQ(chroma_location_from_number(number), location);
    const auto order = static_cast<FieldOrder>(number);
    EXPECT_EQ(field_order_from_name(name(order)), order);
  }
  for (const auto mode : {AlphaMode::unspecified, AlphaMode::premultiplied, AlphaMode::straight}) {
    EXPECT_EQ(alpha_mode_from_name(name(mode)), mode);
  }
  EXPECT_EQ(chroma_location_from_number(7), ChromaLocation::unspecified);
  EXPECT_EQ(chroma_location_from_number(-1), ChromaLocation::unspecified);
  EXPECT_EQ(field_order_from_number(6), FieldOrder::unspecified) << "FFmpeg has no mixed order";
  EXPECT_EQ(alpha_mode_from_name("none of these"), AlphaMode::unspecified);
}

TEST(Colour, EveryCodePointOfH273ThatHasANameIsKept) {
  for (const int matrix : {0, 1, 2, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14}) {
    const Colour colour = colour_from_numbers(static_cast<std::uint8_t>(matrix), 0, 2, 2);
    EXPECT_EQ(static_cast<int>(colour.matrix), matrix);
    EXPECT_EQ(name(colour.matrix) == "unknown", matrix == 2) << matrix;
  }
  for (const int transfer : {1, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18}) {
    const Colour colour = colour_from_numbers(2, 0, static_cast<std::uint8_t>(transfer), 2);
    EXPECT_EQ(static_cast<int>(colour.transfer), transfer);
    EXPECT_NE(name(colour.transfer), "unknown") << transfer;
  }
  const Colour odd = colour_from_numbers(3, 3, 3, 3);
  EXPECT_EQ(odd, Colour{});
}

TEST(Colour, LumaWeightsAreKnownOfWhatTheyDescribe) {
  EXPECT_DOUBLE_EQ(luma_weights(ColourMatrix::smpte240m, 1080).kr, 0.212);
  EXPECT_DOUBLE_EQ(luma_weights(ColourMatrix::fcc, 1080).kr, 0.30);
  EXPECT_TRUE(has_luma_weights(ColourMatrix::unspecified));
  for (const auto matrix : {ColourMatrix::rgb, ColourMatrix::ycgco, ColourMatrix::bt2020c, ColourMatrix::ictcp}) {
    EXPECT_FALSE(has_luma_weights(matrix)) << name(matrix);
  }
}

TEST(Colour, IsDescribedByFfmpegsNames) {
  StreamFormat format{.layout = packed_layout(PixelFormat::yuv420p, 64, 48), .colour = {}};
  EXPECT_EQ(describe_colour(format), "");
  format.colour = {ColourMatrix::bt2020nc, ColourRange::limited, ColourTransfer::pq, ColourPrimaries::bt2020};
  format.chroma_location = ChromaLocation::topleft;
  format.field_order = FieldOrder::tt;
  EXPECT_EQ(describe_colour(format),
            "matrix bt2020nc, range tv, transfer smpte2084, primaries bt2020, chroma topleft, interlaced tt");
  format.field_order = FieldOrder::progressive;
  format.alpha_mode = AlphaMode::straight;
  format.colour = {};
  EXPECT_EQ(describe_colour(format), "chroma topleft, progressive, alpha straight");
}

}  // namespace
}  // namespace framewire
