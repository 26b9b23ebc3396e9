#include "gl/frame_painter.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>
#include <vector>

#include "gl/offscreen_target.hpp"
#include "tests/pixels/gl_test.hpp"

namespace framewire {
namespace {

/// One plane of 8-bit values.
struct Plane {
  std::uint32_t width = 0;
  std::uint32_t height = 0;
  std::vector<std::uint8_t> values{};

  /// Alternating black and white, the hardest input for shrinking.
  static Plane checkerboard(std::uint32_t width, std::uint32_t height) {
    return make(width, height, [](std::uint32_t x, std::uint32_t y) { return (x + y) % 2 == 0 ? 255 : 0; });
  }
  static Plane noise(std::uint32_t width, std::uint32_t height) {
    return make(width, height, [](std::uint32_t x, std::uint32_t y) { return (x * 7919U + y * 104'729U) % 251U; });
  }
  template <typename Value>
  static Plane make(std::uint32_t width, std::uint32_t height, Value&& value) {
    Plane plane{.width = width, .height = height};
    for (std::uint32_t y = 0; y < height; ++y) {
      for (std::uint32_t x = 0; x < width; ++x) {
        plane.values.push_back(static_cast<std::uint8_t>(value(x, y)));
      }
    }
    return plane;
  }

  [[nodiscard]] GlTexture texture() const {
    auto texture = GlTexture::create(GL_TEXTURE_2D);
    glTextureStorage2D(texture.id(), 1, GL_R8, static_cast<GLsizei>(width), static_cast<GLsizei>(height));
    glPixelStorei(GL_UNPACK_ALIGNMENT, 1);
    glTextureSubImage2D(texture.id(), 0, 0, 0, static_cast<GLsizei>(width), static_cast<GLsizei>(height), GL_RED,
                        GL_UNSIGNED_BYTE, values.data());
    glPixelStorei(GL_UNPACK_ALIGNMENT, 4);
    glTextureParameteri(texture.id(), GL_TEXTURE_MIN_FILTER, GL_LINEAR);
    glTextureParameteri(texture.id(), GL_TEXTURE_WRAP_S, GL_CLAMP_TO_EDGE);
    glTextureParameteri(texture.id(), GL_TEXTURE_WRAP_T, GL_CLAMP_TO_EDGE);
    return texture;
  }
};

/// The part of texel `index` that lies between `from` and `to`.
double covered(double index, double from, double to) {
  return std::max(0.0, std::min(index + 1, to) - std::max(index, from));
}

/// What an axis of `texels` shows in pixel `index` of `pixels`: the length of a texel at least, with `shift_texels`; of
/// a texel exactly, where nothing is averaged.
std::pair<double, double> covered_range(std::uint32_t index, std::uint32_t pixels, std::uint32_t texels,
                                        double shift_texels, Downscale downscale) {
  const double ratio = static_cast<double>(texels) / pixels;
  const double centre = (index + 0.5) * ratio + shift_texels;
  const double half = downscale == Downscale::bilinear ? 0.5 : std::max(ratio, 1.0) / 2;
  return {std::max(centre - half, 0.0), std::min<double>(centre + half, texels)};
}

/// The mean of `value(texel)` over what a drawn pixel covers of a plane, in double precision.
template <typename Value>
double reference_mean_of(Size plane, Size drawn, std::uint32_t x, std::uint32_t y, double shift_x, double shift_y,
                         Downscale downscale, Value&& value) {
  const auto [left, right] = covered_range(x, drawn.width, plane.width, shift_x, downscale);
  const auto [top, bottom] = covered_range(y, drawn.height, plane.height, shift_y, downscale);
  double sum = 0;
  for (auto row = static_cast<std::uint32_t>(top); row < bottom; ++row) {
    for (auto column = static_cast<std::uint32_t>(left); column < right; ++column) {
      sum += value(std::size_t{row} * plane.width + column) * covered(column, left, right) * covered(row, top, bottom);
    }
  }
  return sum / ((right - left) * (bottom - top));
}

double reference_mean(const Plane& plane, Size drawn, std::uint32_t x, std::uint32_t y, double shift_x, double shift_y,
                      Downscale downscale) {
  return reference_mean_of({plane.width, plane.height}, drawn, x, y, shift_x, shift_y, downscale,
                           [&plane](std::size_t texel) { return plane.values[texel]; });
}

/// A picture of rgba.
struct AlphaPicture {
  template <typename Value>
  AlphaPicture(Size picture_size, Value&& value) : size(picture_size), texture(GlTexture::create(GL_TEXTURE_2D)) {
    for (std::uint32_t i = 0; i < size.width * size.height * 4; ++i) {
      values.push_back(static_cast<std::uint8_t>(value(i / 4 % size.width, i / 4 / size.width, i % 4)));
    }
    const auto width = static_cast<GLsizei>(size.width);
    const auto height = static_cast<GLsizei>(size.height);
    glTextureStorage2D(texture.id(), 1, GL_RGBA8, width, height);
    glTextureSubImage2D(texture.id(), 0, 0, 0, width, height, GL_RGBA, GL_UNSIGNED_BYTE, values.data());
    glTextureParameteri(texture.id(), GL_TEXTURE_MIN_FILTER, GL_LINEAR);
    glTextureParameteri(texture.id(), GL_TEXTURE_WRAP_S, GL_CLAMP_TO_EDGE);
    glTextureParameteri(texture.id(), GL_TEXTURE_WRAP_T, GL_CLAMP_TO_EDGE);
  }
  static AlphaPicture noise(Size size) {
    return {size, [](std::uint32_t x, std::uint32_t y, std::uint32_t component) {
              return (x * 7919U + y * 104'729U + component * 65'537U) * 2654435761U >> 24U;
            }};
  }

  [[nodiscard]] PaintedFrame frame(ColourRange range = ColourRange::full) const {
    PaintedFrame frame{.textures = {texture.id()}, .texture_count = 1, .size = size};
    frame.has_alpha = true;
    frame.conversion = colour_conversion(PixelFormat::rgba, {.range = range}, size.height);
    return frame;
  }

  Size size;
  std::vector<std::uint8_t> values{};
  GlTexture texture;
};

/// GL's weights between two texels have 8 bits, and so has the result. llvmpipe rounds weights: 1/2 for each direction.
/// An H200 is further off, as if it cut them: 1 for each.
double mean_tolerance() {
  return is_software_renderer() ? 1.6 : 2 + rounding_tolerance;
}

class FramePainterTest : public GlTest {
 protected:
  /// The drawn picture, top row first; R, G, B, A.
  std::vector<std::byte> drawn(const PaintedFrame& frame, Size size, Alpha alpha = Alpha::premultiplied,
                               Downscale downscale = Downscale::area) {
    OffscreenTarget target(size);
    target.bind();
    FramePainter& painter = downscale == Downscale::area ? painter_ : bilinear_painter_;
    painter.draw(frame, {0, 0, static_cast<int>(size.width), static_cast<int>(size.height)}, false, alpha);
    std::vector<std::byte> pixels(target.size_bytes());
    target.read_rgba(pixels);
    return pixels;
  }

  /// Draws the plane as grey, and compares every pixel with the reference.
  void expect_means(const Plane& plane, Size size, Downscale downscale = Downscale::area) {
    const GlTexture texture = plane.texture();
    PaintedFrame frame{.textures = {texture.id()}, .texture_count = 1, .size = {plane.width, plane.height}};
    frame.conversion = colour_conversion(PixelFormat::gray8, {.range = ColourRange::full}, plane.height);
    const std::vector<std::byte> pixels = drawn(frame, size, Alpha::premultiplied, downscale);
    const double tolerance = mean_tolerance();
    for (std::uint32_t y = 0; y < size.height; ++y) {
      for (std::uint32_t x = 0; x < size.width; ++x) {
        const int value = std::to_integer<int>(pixels[(std::size_t{y} * size.width + x) * 4]);
        ASSERT_NEAR(value, reference_mean(plane, size, x, y, 0, 0, downscale), tolerance)
            << plane.width << "x" << plane.height << " to " << size.width << "x" << size.height << " at " << x << ","
            << y;
      }
    }
  }

  /// Draws the picture as `alpha` says, and compares all components with the reference.
  void expect_alpha_means(const AlphaPicture& picture, Size size, Alpha alpha, double tolerance,
                          Downscale downscale = Downscale::area) {
    const std::vector<std::byte> pixels = drawn(picture.frame(), size, alpha, downscale);
    for (std::size_t i = 0; i < pixels.size(); ++i) {
      const auto x = static_cast<std::uint32_t>(i / 4 % size.width);
      const auto y = static_cast<std::uint32_t>(i / 4 / size.width);
      const bool is_alpha = i % 4 == 3;
      const double mean =
          reference_mean_of(picture.size, size, x, y, 0, 0, downscale, [&](std::size_t texel) -> double {
            const double value = picture.values[texel * 4 + i % 4];
            if (alpha == Alpha::straight && !is_alpha) {
              return value * picture.values[texel * 4 + 3] / 255;
            }
            return is_alpha && alpha == Alpha::opaque ? 255 : value;
          });
      ASSERT_NEAR(std::to_integer<int>(pixels[i]), mean, tolerance)
          << picture.size.width << "x" << picture.size.height << " to " << size.width << "x" << size.height
          << ", alpha " << static_cast<int>(alpha) << " at " << x << "," << y << " component " << i % 4;
    }
  }

  /// Draws a frame whose only colour is its chroma, and compares every pixel with the reference.
  void expect_chroma_means(const ChromaSite& site, Downscale downscale) {
    const Plane luma = Plane::make(80, 48, [](std::uint32_t, std::uint32_t) { return 128; });
    const Plane chroma = Plane::checkerboard(40, 24);
    const Plane grey = Plane::make(40, 24, [](std::uint32_t, std::uint32_t) { return 128; });
    const GlTexture y = luma.texture();
    const GlTexture u = grey.texture();
    const GlTexture v = chroma.texture();
    PaintedFrame frame{.textures = {y.id(), u.id(), v.id()}, .texture_count = 3, .size = {80, 48}};
    frame.chroma_log2_width = frame.chroma_log2_height = 1;
    frame.chroma_site = site;
    // R is V.
    frame.conversion.matrix = {0, 0, 0, 0, 0, 0, 1, 0, 0};
    frame.conversion.offset = {};
    const double tolerance = mean_tolerance();
    const double shift_x = 0.25 * (1 - site.x_halves);
    const double shift_y = 0.25 * (1 - site.y_halves);
    for (const double ratio : {1.2, 1.6, 2.0, 2.5, 3.3, 4.0, 7.0}) {
      const Size size{static_cast<std::uint32_t>(80 / ratio), static_cast<std::uint32_t>(48 / ratio)};
      const std::vector<std::byte> pixels = drawn(frame, size, Alpha::premultiplied, downscale);
      for (std::uint32_t row = 0; row < size.height; ++row) {
        for (std::uint32_t column = 0; column < size.width; ++column) {
          const int value = std::to_integer<int>(pixels[(std::size_t{row} * size.width + column) * 4]);
          ASSERT_NEAR(value, reference_mean(chroma, size, column, row, shift_x, shift_y, downscale), tolerance)
              << "ratio " << ratio << " site " << site.x_halves << "," << site.y_halves << " at " << column << ","
              << row;
        }
      }
    }
  }

  FramePainter painter_;
  FramePainter bilinear_painter_{Downscale::bilinear};
};

TEST_F(FramePainterTest, AShrunkCheckerboardIsTheMeanAtEveryRatio) {
  const Plane board = Plane::checkerboard(96, 54);
  for (const double ratio : {1.0, 1.1, 1.2, 1.5, 1.9, 2.0, 2.2, 2.5, 3.0, 3.7, 4.0, 5.3, 9.0, 54.0}) {
    expect_means(board, {static_cast<std::uint32_t>(96 / ratio), static_cast<std::uint32_t>(54 / ratio)});
  }
}

TEST_F(FramePainterTest, SoIsAnyPicture) {
  const Plane noise = Plane::noise(97, 55);
  for (const Size size : {Size{97, 55}, {96, 54}, {70, 40}, {48, 27}, {40, 50}, {33, 19}, {20, 55}, {10, 6}, {1, 1}}) {
    expect_means(noise, size);
  }
}

TEST_F(FramePainterTest, EachAxisIsEnlargedOrShrunkOnItsOwn) {
  const Plane noise = Plane::noise(40, 30);
  expect_means(noise, {100, 10});
  expect_means(noise, {13, 90});
}

TEST_F(FramePainterTest, AnEnlargedPictureIsInterpolatedLinearly) {
  const Plane noise = Plane::noise(16, 9);
  expect_means(noise, {17, 10});
  expect_means(noise, {40, 23});
}

TEST_F(FramePainterTest, StraightColoursAreMultipliedBeforeTheMean) {
  // No weights of bilinear samples are in the way: only the result is rounded.
  const AlphaPicture noise = AlphaPicture::noise({97, 55});
  expect_alpha_means(noise, {97, 55}, Alpha::straight, rounding_tolerance);
  for (const Size size : {Size{96, 54}, {70, 40}, {48, 27}, {97, 30}, {33, 19}, {20, 55}, {10, 6}, {1, 1}}) {
    expect_alpha_means(noise, size, Alpha::straight, rounding_tolerance);
  }
  const AlphaPicture small = AlphaPicture::noise({16, 9});
  for (const Size size : {Size{17, 10}, {40, 23}, {16, 20}, {5, 30}}) {
    expect_alpha_means(small, size, Alpha::straight, rounding_tolerance);
  }
}

TEST_F(FramePainterTest, OpaqueAndMultipliedColoursStayAsTheyAre) {
  const AlphaPicture noise = AlphaPicture::noise({40, 30});
  for (const Alpha alpha : {Alpha::opaque, Alpha::premultiplied}) {
    for (const Size size : {Size{40, 30}, {64, 48}, {13, 9}, {80, 11}}) {
      expect_alpha_means(noise, size, alpha, mean_tolerance());
    }
  }
}

TEST_F(FramePainterTest, TransparentPixelsLeaveNoFringes) {
  const AlphaPicture picture({99, 66}, [](std::uint32_t x, std::uint32_t y, std::uint32_t component) {
    const bool is_transparent = (x / 5 + y / 4) % 2 == 0;
    const std::array<int, 4> green{0, 255, 0, 0};
    const std::array<int, 4> red{255, 0, 0, 255};
    return (is_transparent ? green : red).at(component);
  });
  for (const Size size : {Size{30, 20}, {99, 66}, {240, 160}, {30, 160}}) {
    const std::vector<std::byte> pixels = drawn(picture.frame(), size, Alpha::straight);
    bool has_edges = false;
    for (std::size_t i = 0; i < pixels.size(); i += 4) {
      ASSERT_EQ(pixels[i + 1], std::byte{0}) << i / 4;
      ASSERT_EQ(pixels[i], pixels[i + 3]) << i / 4;
      has_edges = has_edges || (pixels[i] > std::byte{50} && pixels[i] < std::byte{200});
    }
    EXPECT_EQ(has_edges, size != picture.size);
    EXPECT_NE(drawn(picture.frame(), size)[1], std::byte{0}) << "without multiplication there is green";
  }
}

/// 16 is black and 235 white; what is brighter is white.
TEST_F(FramePainterTest, ColoursOfLimitedRangeAreMultipliedWithoutTheirOffset) {
  const AlphaPicture picture({3, 1}, [](std::uint32_t x, std::uint32_t, std::uint32_t component) {
    return component == 3 ? 100U : std::array<unsigned, 3>{16, 235, 255}.at(x);
  });
  for (const Size size : {Size{3, 1}, {3, 2}}) {
    const std::vector<std::byte> pixels = drawn(picture.frame(ColourRange::limited), size, Alpha::straight);
    EXPECT_EQ(pixels[0], std::byte{0});
    EXPECT_EQ(pixels[4], std::byte{100});
    EXPECT_EQ(pixels[8], std::byte{100});
    EXPECT_EQ(pixels[3], std::byte{100});
  }
}

/// Chroma is shrunk at its own ratio: at half of the luma's it is enlarged up to a ratio of 2.
TEST_F(FramePainterTest, ChromaIsAveragedOverWhatItCoversFromItsSite) {
  for (const ChromaSite site : {ChromaSite{0, 1}, ChromaSite{1, 1}, ChromaSite{0, 0}}) {
    expect_chroma_means(site, Downscale::area);
  }
}

TEST_F(FramePainterTest, BilinearTakesOneSampleOfEachPlaneAtEveryRatio) {
  for (const Plane& plane : {Plane::checkerboard(96, 54), Plane::noise(97, 55)}) {
    for (const Size size :
         {Size{97, 55}, {96, 54}, {70, 40}, {48, 27}, {40, 50}, {32, 18}, {20, 70}, {10, 6}, {1, 1}}) {
      expect_means(plane, size, Downscale::bilinear);
    }
  }
  for (const ChromaSite site : {ChromaSite{0, 1}, ChromaSite{1, 1}, ChromaSite{0, 0}}) {
    expect_chroma_means(site, Downscale::bilinear);
  }
}

TEST_F(FramePainterTest, BilinearMultipliesStraightColoursBeforeItInterpolatesThem) {
  const AlphaPicture noise = AlphaPicture::noise({97, 55});
  for (const Size size : {Size{97, 55}, {96, 54}, {48, 27}, {97, 30}, {33, 70}, {10, 6}, {1, 1}}) {
    expect_alpha_means(noise, size, Alpha::straight, rounding_tolerance, Downscale::bilinear);
    expect_alpha_means(noise, size, Alpha::premultiplied, mean_tolerance(), Downscale::bilinear);
  }
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
