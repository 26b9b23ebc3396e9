#include "media/av_format.hpp"

#include <gtest/gtest.h>

#include <string>

namespace framewire::libav {
namespace {

/// The format table covers all our formats, and their memory layout is the same in libav.
TEST(AvFormat, EveryPixelFormatHasOneOfLibavs) {
  for (const PixelFormatInfo& entry : pixel_formats()) {
    const AVPixelFormat format = to_av(entry.format);
    ASSERT_NE(format, AV_PIX_FMT_NONE) << entry.name << ": media/av_format.cpp does not know it";
    EXPECT_EQ(format, av_get_pix_fmt(std::string(entry.name).c_str())) << entry.name;
    EXPECT_EQ(carried(format), entry.format) << entry.name;
    EXPECT_EQ(av_image_get_buffer_size(format, 64, 48, 1),
              static_cast<int>(packed_layout(entry.format, 64, 48).size_bytes))
        << entry.name;
    const AVPixFmtDescriptor* descriptor = av_pix_fmt_desc_get(format);
    ASSERT_NE(descriptor, nullptr);
    EXPECT_EQ((descriptor->flags & AV_PIX_FMT_FLAG_ALPHA) != 0, has_alpha(entry.format)) << entry.name;
    EXPECT_EQ(descriptor->comp[0].depth, entry.depth) << entry.name;
    EXPECT_EQ(descriptor->comp[0].shift, entry.shift) << entry.name;
  }
}

TEST(AvFormat, NamesOfChromaAndFieldsAreFfmpegs) {
  for (int number = AVCHROMA_LOC_UNSPECIFIED; number < AVCHROMA_LOC_NB; ++number) {
    EXPECT_EQ(name(chroma_location_from_number(number)),
              av_chroma_location_name(static_cast<AVChromaLocation>(number)));
  }
  EXPECT_EQ(static_cast<int>(FieldOrder::progressive), AV_FIELD_PROGRESSIVE);
  EXPECT_EQ(static_cast<int>(FieldOrder::tt), AV_FIELD_TT);
  EXPECT_EQ(static_cast<int>(FieldOrder::bb), AV_FIELD_BB);
  EXPECT_EQ(static_cast<int>(FieldOrder::tb), AV_FIELD_TB);
  EXPECT_EQ(static_cast<int>(FieldOrder::bt), AV_FIELD_BT);
}

TEST(AvFormat, NamesOfColoursAreFfmpegs) {
  for (int number = 0; number < 23; ++number) {
    const auto code = static_cast<std::uint8_t>(number);
    const Colour colour = colour_from_numbers(code, code, code, code);
    if (colour.matrix != ColourMatrix::unspecified) {
      EXPECT_EQ(name(colour.matrix), av_color_space_name(static_cast<AVColorSpace>(number)));
    }
    if (colour.range != ColourRange::unspecified) {
      EXPECT_EQ(name(colour.range), av_color_range_name(static_cast<AVColorRange>(number)));
    }
    if (colour.transfer != ColourTransfer::unspecified) {
      EXPECT_EQ(name(colour.transfer), av_color_transfer_name(static_cast<AVColorTransferCharacteristic>(number)));
    }
    if (colour.primaries != ColourPrimaries::unspecified) {
      EXPECT_EQ(name(colour.primaries), av_color_primaries_name(static_cast<AVColorPrimaries>(number)));
    }
  }
}

}  // namespace
}  // namespace framewire::libav
