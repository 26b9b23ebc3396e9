#include "gl/frame_painter.hpp"

#include <vector>

#include "gl/offscreen_target.hpp"
#include "tests/pixels/gl_test.hpp"

namespace framewire {
namespace {

class FramePainterTest : public GlTest {
 protected:
  /// Alternating black and white pixels, the hardest input for downscaling.
  static GlTexture checkerboard(std::uint32_t side) {
    std::vector<std::uint32_t> pixels(std::size_t{side} * side);
    for (std::uint32_t i = 0; i < pixels.size(); ++i) {
      pixels[i] = (i + i / side) % 2 == 0 ? 0xffffffffU : 0xff000000U;
    }
    auto texture = GlTexture::create(GL_TEXTURE_2D);
    const auto length = static_cast<GLsizei>(side);
    glTextureStorage2D(texture.id(), 1, GL_RGBA8, length, length);
    glTextureSubImage2D(texture.id(), 0, 0, 0, length, length, GL_RGBA, GL_UNSIGNED_BYTE, pixels.data());
    glTextureParameteri(texture.id(), GL_TEXTURE_MIN_FILTER, GL_LINEAR);
    return texture;
  }
};

TEST_F(FramePainterTest, SmoothMinificationIsTheMeanOfEverythingCovered) {
  const FramePainter painter(Minification::smooth);
  const GlTexture texture = checkerboard(128);
  PaintedFrame frame{.textures = {texture.id()}, .texture_count = 1, .size = {128, 128}};
  frame.conversion = colour_conversion(PixelFormat::rgba, {}, 128);
  for (const std::uint32_t side : {16U, 32U, 43U, 50U}) {
    OffscreenTarget target({side, side});
    target.bind();
    painter.draw(frame, {0, 0, static_cast<int>(side), static_cast<int>(side)}, false);
    std::vector<std::byte> pixels(target.size_bytes());
    target.read_rgba(pixels);
    // If the sides do not divide evenly, the positions of samples between pixels vary, and a quarter of the contrast
    // may remain. With one sample per pixel all of it would remain.
    const int tolerance = 128 % side == 0 ? 2 : 32;
    for (std::size_t i = 0; i < pixels.size(); i += 4) {
      ASSERT_NEAR(std::to_integer<int>(pixels[i]), 127.5, tolerance) << side << " " << i / 4;
    }
  }
}

TEST_F(FramePainterTest, AllVariantsCompile) {
  EXPECT_NO_THROW(FramePainter{Minification::fast});
}

TEST(ColourConversion, PutsBlackAndWhiteWhereTheStandardsHaveThem) {
  const auto convert = [](PixelFormat format, ColourRange range, double y, double u, double v) {
    const auto conversion = colour_conversion(format, {.matrix = ColourMatrix::bt709, .range = range}, 1080);
    std::array<double, 3> rgb{};
    for (std::size_t i = 0; i < 3; ++i) {
      rgb.at(i) = conversion.matrix.at(i) * y + conversion.matrix.at(3 + i) * u + conversion.matrix.at(6 + i) * v +
                  conversion.offset.at(i);
    }
    return rgb;
  };
  constexpr double exact = 1e-5;
  for (const double component :
       convert(PixelFormat::nv12, ColourRange::limited, 16 / 255.0, 128 / 255.0, 128 / 255.0)) {
    EXPECT_NEAR(component, 0.0, exact);
  }
  for (const double component :
       convert(PixelFormat::nv12, ColourRange::limited, 235 / 255.0, 128 / 255.0, 128 / 255.0)) {
    EXPECT_NEAR(component, 1.0, exact);
  }
  for (const double component :
       convert(PixelFormat::yuv420p10le, ColourRange::full, 1023 / 65535.0, 512 / 65535.0, 512 / 65535.0)) {
    EXPECT_NEAR(component, 1.0, exact);
  }
  for (const double component : convert(PixelFormat::p010le, ColourRange::unspecified, 940 * 64 / 65535.0,
                                        512 * 64 / 65535.0, 512 * 64 / 65535.0)) {
    EXPECT_NEAR(component, 1.0, exact);
  }
  // The red primary of BT.709 in limited range, from BT.709-6: Y 63, Cb 102, Cr 240.
  const auto red = convert(PixelFormat::yuv444p, ColourRange::limited, 63 / 255.0, 102 / 255.0, 240 / 255.0);
  EXPECT_NEAR(red.at(0), 1.0, 0.01);
  EXPECT_NEAR(red.at(1), 0.0, 0.01);
  EXPECT_NEAR(red.at(2), 0.0, 0.01);
}

TEST(RowStep, IsFoundWhereGlCanExpressIt) {
  const TexturePlane& rgba = texture_planes(PixelFormat::rgba)[0];
  const TexturePlane& rgb = texture_planes(PixelFormat::rgb24)[0];
  const TexturePlane& word = texture_planes(PixelFormat::yuv420p10le)[0];
  EXPECT_EQ(find_row_step(rgba, 256, 0)->row_length_texels, 64);
  EXPECT_FALSE(find_row_step(rgba, 257, 0).has_value());
  EXPECT_EQ(find_row_step(rgb, 111, 0)->row_length_texels, 37);
  EXPECT_EQ(find_row_step(rgb, 111, 0)->alignment_bytes, 1);
  const auto padded = find_row_step(rgb, 112, 0);  // 37 texels and one byte, covered by the row alignment
  ASSERT_TRUE(padded.has_value());
  EXPECT_EQ(padded->row_length_texels, 37);
  EXPECT_GT(padded->alignment_bytes, 1);
  EXPECT_FALSE(find_row_step(rgb, 113, 0).has_value());
  EXPECT_TRUE(find_row_step(word, 128, 2).has_value());
  EXPECT_FALSE(find_row_step(word, 128, 1).has_value());
  EXPECT_FALSE(find_row_step(word, 129, 0).has_value());
}

}  // namespace
}  // namespace framewire
