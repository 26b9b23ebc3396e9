// The table of pixel formats. Other folders test the tables derived from it: textures and pixels in tests/pixels, libav
// and y4m in tests/media, the test picture in tests/sender. Each of them loops over pixel_formats(), so they also cover
// a new format.
#include "frame/pixel_format.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>

#include "frame/frame_layout.hpp"

namespace framewire {
namespace {

TEST(PixelFormats, AreFoundByNameAndNumber) {
  std::set<std::string_view> names;
  for (const PixelFormatInfo& entry : pixel_formats()) {
    EXPECT_TRUE(names.insert(entry.name).second) << entry.name;
    EXPECT_EQ(pixel_format_from_name(entry.name), entry.format);
    EXPECT_EQ(pixel_format_from_number(static_cast<std::uint32_t>(entry.format)), entry.format);
    EXPECT_EQ(info(entry.format).name, entry.name);
  }
  std::uint32_t beyond = 1;
  while (pixel_format_from_number(beyond)) {
    ++beyond;
  }
  EXPECT_EQ(beyond, names.size() + 3) << "a format without an entry in the table, besides bytes and one with depth";
  EXPECT_FALSE(pixel_format_from_number(0));
}

TEST(PixelFormats, WithDepthAreThePictureAndADistanceForEachPixel) {
  const auto format = pixel_format_from_name("rgba+grayf32le");
  ASSERT_EQ(format, PixelFormat::rgba_grayf32le);
  EXPECT_EQ(pixel_format_from_number(18), format);
  EXPECT_TRUE(has_depth(*format));
  EXPECT_EQ(colour_format(*format), PixelFormat::rgba);
  const FrameLayout layout = packed_layout(*format, 7, 5);
  EXPECT_EQ(layout.plane_count, 2U);
  EXPECT_EQ(layout.planes[0], packed_layout(PixelFormat::rgba, 7, 5).planes[0]);
  EXPECT_EQ(layout.planes[1], (PlaneLayout{140, 28, 28, 5}));
  EXPECT_EQ(layout.size_bytes, 280U);
  EXPECT_NE(pixel_format_names().find("rgba+grayf32le"), std::string::npos);
  for (const PixelFormatInfo& entry : pixel_formats()) {
    EXPECT_FALSE(has_depth(entry.format)) << entry.name;
    EXPECT_EQ(colour_format(entry.format), entry.format);
  }
  EXPECT_FALSE(has_depth(PixelFormat::bytes));
}

/// The properties of an entry must be consistent.
TEST(PixelFormats, HaveComponentsThatFillTheirTexels) {
  for (const PixelFormatInfo& entry : pixel_formats()) {
    std::string all;
    for (std::size_t i = 0; i < entry.planes.size(); ++i) {
      const PlaneShape& plane = entry.planes.at(i);
      EXPECT_EQ(plane.components.empty(), i >= entry.plane_count) << entry.name;
      EXPECT_EQ(plane.components.size() * (entry.depth > 8 ? 2 : 1), plane.bytes_per_texel) << entry.name;
      all += plane.components;
    }
    EXPECT_EQ(all.find_first_not_of("RGBAYUV0"), std::string::npos) << entry.name;
    const auto has = [&all](char component) { return all.find(component) != std::string::npos; };
    EXPECT_EQ(entry.is_yuv, has('Y') && has('U') && has('V')) << entry.name;
    EXPECT_EQ(is_gray(entry.format), has('Y') && !has('U')) << entry.name;
    EXPECT_EQ(has_alpha(entry.format), has('A')) << entry.name;
    EXPECT_EQ(is_subsampled(entry.format),
              packed_layout(entry.format, 2, 2).size_bytes != packed_layout(entry.format, 1, 1).size_bytes * 4)
        << entry.name;
    EXPECT_TRUE(has('Y') || (has('R') && has('G') && has('B'))) << entry.name;
    EXPECT_TRUE(entry.shift == 0 || entry.depth + entry.shift == 16) << entry.name;
  }
}

/// A format that gl/ would draw wrongly must not compile.
TEST(PixelFormats, ThatHaveNoTexturesAreRefused) {
  const auto is_refused = [](std::uint8_t planes, bool is_yuv, std::array<PlaneShape, 3> shapes) {
    return !is_drawable({PixelFormat::rgba, "new", planes, 8, is_yuv, shapes});
  };
  constexpr PlaneShape none{0, 0, 0, ""};
  constexpr PlaneShape y{0, 0, 1, "Y"};
  EXPECT_FALSE(is_refused(1, true, {PlaneShape{1, 0, 4, "YVYU"}, none, none})) << "yvyu422";
  EXPECT_FALSE(is_refused(2, true, {y, PlaneShape{1, 1, 2, "VU"}, none})) << "nv21";
  EXPECT_TRUE(is_refused(1, true, {PlaneShape{0, 0, 4, "VUYA"}, none, none})) << "packed 4:4:4";
  EXPECT_TRUE(is_refused(1, true, {PlaneShape{2, 0, 6, "UYYVYY"}, none, none})) << "packed 4:1:1";
  EXPECT_TRUE(is_refused(1, true, {PlaneShape{1, 0, 4, "YYUV"}, none, none})) << "packed 4:2:2, both Y first";
  EXPECT_TRUE(is_refused(3, true, {y, PlaneShape{1, 1, 1, "V"}, PlaneShape{1, 1, 1, "U"}})) << "yv12";
  EXPECT_TRUE(is_refused(3, false, {PlaneShape{0, 0, 1, "G"}, PlaneShape{0, 0, 1, "B"}, PlaneShape{0, 0, 1, "R"}}))
      << "gbrp";
}

}  // namespace
}  // namespace framewire
