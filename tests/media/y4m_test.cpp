#include "media/y4m.hpp"

#include <gtest/gtest.h>

#include "base/error.hpp"

namespace framewire {
namespace {

TEST(Y4m, ReadsWhatFfmpegWrites) {
  const StreamFormat format =
      parse_y4m_header("YUV4MPEG2 W320 H180 F30000:1001 Ip A4:3 C420jpeg XYSCSS=420JPEG XCOLORRANGE=LIMITED");
  EXPECT_EQ(format.layout, packed_layout(PixelFormat::yuv420p, 320, 180));
  EXPECT_EQ(format.frame_rate, (Rational{30000, 1001}));
  EXPECT_EQ(format.sample_aspect_ratio, (Rational{4, 3}));
  EXPECT_EQ(format.colour.range, ColourRange::limited);
}

TEST(Y4m, KnowsTheColourSpaces) {
  struct Space {
    const char* tag;
    PixelFormat format;
  };
  for (const Space& space :
       {Space{"", PixelFormat::yuv420p}, Space{" C420", PixelFormat::yuv420p},
        Space{" C420mpeg2", PixelFormat::yuv420p}, Space{" C420paldv", PixelFormat::yuv420p},
        Space{" C422", PixelFormat::yuv422p}, Space{" C444", PixelFormat::yuv444p}, Space{" Cmono", PixelFormat::gray8},
        Space{" C420p10", PixelFormat::yuv420p10le}, Space{" C422p10", PixelFormat::yuv422p10le}}) {
    EXPECT_EQ(parse_y4m_header(std::string("YUV4MPEG2 W5 H3 F1:1") + space.tag).layout,
              packed_layout(space.format, 5, 3))
        << space.tag;
  }
}

TEST(Y4m, UnknownThingsAreUnknown) {
  const StreamFormat format = parse_y4m_header("YUV4MPEG2 W2 H2 F0:0 A0:0 I? XHELLO");
  EXPECT_EQ(format.frame_rate.numerator, 0U);
  EXPECT_EQ(format.sample_aspect_ratio, (Rational{1, 1}));
  EXPECT_EQ(format.colour.range, ColourRange::unspecified);
  EXPECT_EQ(parse_y4m_header("YUV4MPEG2 W2 H2 F1:1 XCOLORRANGE=FULL").colour.range, ColourRange::full);
}

class BadHeader : public ::testing::TestWithParam<const char*> {};

TEST_P(BadHeader, IsRefused) {
  EXPECT_THROW(parse_y4m_header(GetParam()), Error) << GetParam();
}

INSTANTIATE_TEST_SUITE_P(
    Table, BadHeader,
    ::testing::Values("", "YUV4MPEG", "YUV4MPEG2", "YUV4MPEG3 W1 H1", "YUV4MPEG2W1 H1", "yuv4mpeg2 W1 H1", "RIFF....",
                      "YUV4MPEG2 W320", "YUV4MPEG2 H180", "YUV4MPEG2 W0 H180", "YUV4MPEG2 W320 H0",
                      "YUV4MPEG2 W-320 H180", "YUV4MPEG2 W+320 H180", "YUV4MPEG2 W320.5 H180", "YUV4MPEG2 W32769 H180",
                      "YUV4MPEG2 W320 H999999999", "YUV4MPEG2 W99999999999999999999 H1", "YUV4MPEG2 W H",
                      "YUV4MPEG2 W0x10 H16", "YUV4MPEG2 W320 W320 H180", "YUV4MPEG2 W320 H180 F30",
                      "YUV4MPEG2 W320 H180 F30:0", "YUV4MPEG2 W320 H180 F0:1", "YUV4MPEG2 W320 H180 F-30:1",
                      "YUV4MPEG2 W320 H180 F30:1:1", "YUV4MPEG2 W320 H180 F4000000000:1",
                      "YUV4MPEG2 W320 H180 F1:4000000000", "YUV4MPEG2 W320 H180 A1", "YUV4MPEG2 W320 H180 A1:0",
                      "YUV4MPEG2 W320 H180 C411", "YUV4MPEG2 W320 H180 C444p16", "YUV4MPEG2 W320 H180 C",
                      "YUV4MPEG2 W320 H180 Ix", "YUV4MPEG2 W320 H180 Ipp", "YUV4MPEG2 W320 H180 XCOLORRANGE=",
                      "YUV4MPEG2 W320 H180 XCOLORRANGE=HALF", "YUV4MPEG2 W320 H180 Q1", "YUV4MPEG2 W320\tH180"));

TEST(Y4m, TheErrorNamesTheTag) {
  try {
    parse_y4m_header("YUV4MPEG2 W320 H999999999");
    FAIL();
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "the y4m header says a height of '999999999'; it must be 1 to 32768 pixels");
  }
}

TEST(Y4m, WritesWhatItReads) {
  for (const PixelFormatInfo& entry : pixel_formats()) {
    StreamFormat format{.layout = packed_layout(y4m_format(entry.format), 33, 17),
                        .colour = {},
                        .sample_aspect_ratio = {8, 9},
                        .frame_rate = {24000, 1001},
                        .field_order = FieldOrder::tt};
    format.colour.range = ColourRange::limited;
    if (format.layout.format == PixelFormat::yuv420p) {
      format.chroma_location = ChromaLocation::topleft;
    }
    std::string line = y4m_header(format);
    ASSERT_EQ(line.back(), '\n');
    line.pop_back();
    EXPECT_EQ(parse_y4m_header(line), format) << entry.name;
  }
}

TEST(Y4m, KeepsWhereTheChromaLies) {
  struct Space {
    const char* tag;
    ChromaLocation location;
    const char* written;
  };
  using enum ChromaLocation;
  for (const Space& space :
       {Space{" C420jpeg", center, " C420jpeg"}, Space{" C420mpeg2", left, " C420mpeg2"},
        Space{" C420paldv", topleft, " C420paldv"}, Space{" C420", center, " C420jpeg"}, Space{"", center, " C420jpeg"},
        Space{" C422", unspecified, " C422"}, Space{" C420p10", unspecified, " C420p10"}}) {
    const StreamFormat format = parse_y4m_header(std::string("YUV4MPEG2 W6 H4 F1:1") + space.tag);
    EXPECT_EQ(format.chroma_location, space.location) << space.tag;
    EXPECT_NE((y4m_header(format) + " ").find(std::string(space.written) + "\n"), std::string::npos)
        << y4m_header(format);
    EXPECT_TRUE(y4m_says_chroma_location(format)) << space.tag;
  }
  StreamFormat format{.layout = packed_layout(PixelFormat::yuv420p, 6, 4), .colour = {}};
  EXPECT_NE(y4m_header(format).find(" C420mpeg2"), std::string::npos) << "as it is shown";
  EXPECT_TRUE(y4m_says_chroma_location(format));
  format.chroma_location = bottom;
  EXPECT_FALSE(y4m_says_chroma_location(format));
  format.layout = packed_layout(PixelFormat::yuv420p10le, 6, 4);
  format.chroma_location = left;
  EXPECT_TRUE(y4m_says_chroma_location(format));
  format.chroma_location = topleft;
  EXPECT_FALSE(y4m_says_chroma_location(format));
  format.layout = packed_layout(PixelFormat::yuv444p, 6, 4);
  EXPECT_TRUE(y4m_says_chroma_location(format)) << "there is none to say";
}

TEST(Y4m, KeepsTheOrderOfFields) {
  struct Order {
    const char* tag;
    FieldOrder order;
    char written;
  };
  using enum FieldOrder;
  for (const Order& order : {Order{" Ip", progressive, 'p'}, Order{" It", tt, 't'}, Order{" Ib", bb, 'b'},
                             Order{" Im", mixed, '?'}, Order{" I?", unspecified, '?'}, Order{"", unspecified, '?'}}) {
    StreamFormat format = parse_y4m_header(std::string("YUV4MPEG2 W6 H4 F1:1") + order.tag);
    EXPECT_EQ(format.field_order, order.order) << order.tag;
    EXPECT_NE(y4m_header(format).find(std::string(" I") + order.written), std::string::npos) << y4m_header(format);
  }
  StreamFormat format{.layout = packed_layout(PixelFormat::yuv420p, 6, 4), .colour = {}};
  format.field_order = tb;  // coded top first, displayed bottom first
  EXPECT_NE(y4m_header(format).find(" Ib"), std::string::npos);
}

/// The y4m format for each pixel format never has fewer bits or less chroma.
TEST(Y4m, LosesNothingOfAnyYuv) {
  for (const PixelFormatInfo& entry : pixel_formats()) {
    const PixelFormatInfo& kept = info(y4m_format(entry.format));
    EXPECT_NE(y4m_header({.layout = packed_layout(kept.format, 6, 4), .colour = {}}).find(" C"), std::string::npos);
    EXPECT_EQ(y4m_format(kept.format), kept.format) << entry.name;
    EXPECT_GE(kept.depth, entry.depth) << entry.name << " is cut to " << kept.name
                                       << ": give media/y4m.cpp a name for it";
    const PlaneShape& from = entry.planes.at(entry.plane_count - 1U);
    const PlaneShape& to = kept.planes.at(kept.plane_count - 1U);
    if (entry.is_yuv) {
      EXPECT_EQ(to.log2_width, from.log2_width) << entry.name;
      EXPECT_EQ(to.log2_height, from.log2_height) << entry.name;
    }
  }
}

TEST(Y4m, FrameLines) {
  EXPECT_TRUE(is_y4m_frame_line("FRAME"));
  EXPECT_TRUE(is_y4m_frame_line("FRAME Ippp"));
  EXPECT_FALSE(is_y4m_frame_line("FRAMES"));
  EXPECT_FALSE(is_y4m_frame_line("FRAM"));
  EXPECT_FALSE(is_y4m_frame_line(""));
}

}  // namespace
}  // namespace framewire
