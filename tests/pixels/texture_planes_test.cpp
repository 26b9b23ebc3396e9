#include "gl/texture_planes.hpp"

#include <gtest/gtest.h>

#include <string>

namespace framewire {
namespace {

/// For every format, the derived texture planes agree with the layout of the frame's planes.
TEST(TexturePlanes, EveryPictureHasThem) {
  for (const PixelFormatInfo& entry : pixel_formats()) {
    const auto textures = texture_planes(entry.format);
    const bool is_packed_422 = entry.is_yuv && entry.plane_count == 1;
    ASSERT_EQ(textures.size(), is_packed_422 ? 2 : entry.plane_count) << entry.name;
    for (const TexturePlane& texture : textures) {
      const PlaneShape& plane = entry.planes.at(texture.plane);
      // Both textures of packed 4:2:2 use the same bytes.
      EXPECT_EQ(texture.texel_bytes << plane.log2_width, plane.bytes_per_texel << texture.log2_width) << entry.name;
      EXPECT_EQ(texture.log2_height, plane.log2_height) << entry.name;
      EXPECT_EQ(texture.component_bytes, entry.depth > 8 ? 2 : 1) << entry.name;
    }
  }
  EXPECT_TRUE(texture_planes(PixelFormat::bytes).empty());
}

TEST(TexturePlanes, PutComponentsWhereTheShaderLooksForThem) {
  using Swizzle = std::array<GLint, 4>;
  const auto swizzle = [](PixelFormat format, std::size_t i) { return texture_planes(format)[i].swizzle; };
  EXPECT_EQ(swizzle(PixelFormat::rgba, 0), (Swizzle{GL_RED, GL_GREEN, GL_BLUE, GL_ALPHA}));
  EXPECT_EQ(swizzle(PixelFormat::bgr0, 0), (Swizzle{GL_BLUE, GL_GREEN, GL_RED, GL_ONE}));
  EXPECT_EQ(swizzle(PixelFormat::gray8, 0), (Swizzle{GL_RED, GL_RED, GL_RED, GL_ONE}));
  EXPECT_EQ(swizzle(PixelFormat::uyvy422, 0).front(), GL_GREEN);
  EXPECT_EQ(swizzle(PixelFormat::uyvy422, 1), (Swizzle{GL_RED, GL_BLUE, GL_ZERO, GL_ONE}));
  EXPECT_EQ(swizzle(PixelFormat::yuyv422, 0).front(), GL_RED);
  EXPECT_EQ(swizzle(PixelFormat::yuyv422, 1), (Swizzle{GL_GREEN, GL_ALPHA, GL_ZERO, GL_ONE}));
  EXPECT_EQ(swizzle(PixelFormat::yuv420p, 2).front(), GL_RED);
}

}  // namespace
}  // namespace framewire
