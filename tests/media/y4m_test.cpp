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
  EXPECT_EQ(format.sample_aspect, (Rational{4, 3}));
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
  EXPECT_EQ(format.sample_aspect, (Rational{1, 1}));
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

TEST(Y4m, TheSentenceNamesTheTag) {
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
                        .sample_aspect = {8, 9},
                        .frame_rate = {24000, 1001}};
    format.colour.range = ColourRange::limited;
    std::string line = y4m_header(format);
    ASSERT_EQ(line.back(), '\n');
    line.pop_back();
    EXPECT_EQ(parse_y4m_header(line), format) << entry.name;
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
