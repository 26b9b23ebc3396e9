#include "frame/frame_layout.hpp"

#include <gtest/gtest.h>

#include "base/error.hpp"

namespace framewire {
namespace {

struct Expected {
  const char* name;
  std::uint64_t bytes_4k;
  std::uint64_t bytes_7x5;  // odd sides: chroma rounds up
};

// 4K sizes as FFmpeg's av_image_get_buffer_size(…, 1) gives them.
constexpr Expected table[] = {
    {"rgba", 33177600, 140},        {"bgra", 33177600, 140},     {"rgb0", 33177600, 140},
    {"bgr0", 33177600, 140},        {"rgb24", 24883200, 105},    {"bgr24", 24883200, 105},
    {"gray8", 8294400, 35},         {"nv12", 12441600, 35 + 24}, {"yuv420p", 12441600, 35 + 24},
    {"yuv422p", 16588800, 35 + 40}, {"yuv444p", 24883200, 105},  {"uyvy422", 16588800, 80},
    {"yuyv422", 16588800, 80},      {"p010le", 24883200, 118},   {"yuv420p10le", 24883200, 118},
    {"yuv422p10le", 33177600, 150},
};

TEST(PixelFormat, HasEveryNameOnce) {
  EXPECT_EQ(pixel_formats().size(), std::size(table));
  for (const Expected& expected : table) {
    const auto format = pixel_format_from_name(expected.name);
    ASSERT_TRUE(format) << expected.name;
    EXPECT_EQ(info(*format).name, expected.name);
    EXPECT_EQ(pixel_format_from_number(static_cast<std::uint32_t>(*format)), format);
  }
  EXPECT_EQ(pixel_format_from_name("gray"), PixelFormat::gray8);
  EXPECT_FALSE(pixel_format_from_name("pal8"));
  EXPECT_FALSE(pixel_format_from_name(""));
  EXPECT_FALSE(pixel_format_from_number(0));
  EXPECT_FALSE(pixel_format_from_number(9999));
}

TEST(PackedLayout, HasTheSizesOfRawVideo) {
  for (const Expected& expected : table) {
    const PixelFormat format = *pixel_format_from_name(expected.name);
    EXPECT_EQ(packed_layout(format, 3840, 2160).size_bytes, expected.bytes_4k) << expected.name;
    EXPECT_EQ(packed_layout(format, 7, 5).size_bytes, expected.bytes_7x5) << expected.name;
    EXPECT_FALSE(validate_layout(packed_layout(format, 7, 5), expected.bytes_7x5));
  }
}

TEST(PackedLayout, RefusesImpossibleSizes) {
  EXPECT_THROW(packed_layout(PixelFormat::rgba, 0, 5), Error);
  EXPECT_THROW(packed_layout(PixelFormat::rgba, 5, 0), Error);
  EXPECT_THROW(packed_layout(PixelFormat::rgba, 32769, 5), Error);
  EXPECT_EQ(packed_layout(PixelFormat::rgba, 32768, 32768).size_bytes, max_slot_bytes);
  EXPECT_EQ(packed_layout(PixelFormat::rgba_grayf32le, 32768, 16384).size_bytes, max_slot_bytes);
  EXPECT_THROW(packed_layout(PixelFormat::rgba_grayf32le, 32768, 16385), Error);
}

TEST(LayoutFault, FindsPlanesOfBytes) {
  FrameLayout layout = bytes_layout(100);
  EXPECT_FALSE(validate_layout(layout, 100));
  layout.plane_count = 1;
  EXPECT_TRUE(validate_layout(layout, 100));
}

TEST(LayoutFault, FindsPlanesThatLieWrong) {
  const FrameLayout good = packed_layout(PixelFormat::yuv420p, 64, 48);
  EXPECT_TRUE(validate_layout(good, good.size_bytes - 1)) << "larger than its slot";
  FrameLayout layout = good;
  layout.planes[1].offset_bytes = 0;
  EXPECT_TRUE(validate_layout(layout, good.size_bytes)) << "over another plane";
  layout = good;
  layout.planes[2].offset_bytes += 1;
  EXPECT_TRUE(validate_layout(layout, good.size_bytes)) << "past the end";
  layout = good;
  layout.planes[0].pitch_bytes = 63;
  EXPECT_TRUE(validate_layout(layout, good.size_bytes)) << "rows overlap";
  layout = good;
  layout.planes[0].rows = 47;
  EXPECT_TRUE(validate_layout(layout, good.size_bytes)) << "a row is missing";
  layout = good;
  layout.plane_count = 2;
  EXPECT_TRUE(validate_layout(layout, good.size_bytes)) << "a plane is missing";
  layout = good;
  layout.planes[2].offset_bytes = UINT64_MAX - 5;
  EXPECT_TRUE(validate_layout(layout, good.size_bytes)) << "an offset that wraps";
  layout = good;
  layout.width = 0;
  EXPECT_TRUE(validate_layout(layout, good.size_bytes));
}

TEST(LayoutFault, TakesPaddedRows) {
  FrameLayout layout = packed_layout(PixelFormat::nv12, 60, 40);
  layout.planes[0] = {0, 64, 60, 40};
  layout.planes[1] = {64UL * 48, 64, 60, 20};  // a decoder's padded height
  layout.size_bytes = 64UL * 48 + 64 * 20;
  EXPECT_FALSE(validate_layout(layout, layout.size_bytes));
}

TEST(Colour, UnknownCodePointsAreUnspecified) {
  const Colour colour = colour_from_numbers(200, 9, 77, 250);
  EXPECT_EQ(colour, Colour{});
  EXPECT_EQ(colour_from_numbers(9, 2, 16, 9),
            (Colour{ColourMatrix::bt2020nc, ColourRange::full, ColourTransfer::pq, ColourPrimaries::bt2020}));
}

TEST(Colour, AnUnspecifiedMatrixGoesByTheHeight) {
  EXPECT_EQ(luma_weights(ColourMatrix::unspecified, 719).kr, 0.299);
  EXPECT_EQ(luma_weights(ColourMatrix::unspecified, 720).kr, 0.2126);
  EXPECT_EQ(luma_weights(ColourMatrix::bt2020nc, 100).kb, 0.0593);
}

}  // namespace
}  // namespace framewire
