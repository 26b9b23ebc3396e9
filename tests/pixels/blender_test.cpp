#include "gl/blender.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "gl/canvas.hpp"
#include "gl/frame_painter.hpp"
#include "gl/offscreen_target.hpp"
#include "tests/pixels/gl_test.hpp"

namespace framewire {
namespace {

/// R, G, B, A of every pixel in GL's order of rows.
struct BlendImage {
  Size size;
  std::vector<std::uint8_t> values = std::vector<std::uint8_t>(std::size_t{size.width} * size.height * 4);

  [[nodiscard]] const std::uint8_t* at(int x, int y) const {
    return &values[(static_cast<std::size_t>(y) * size.width + static_cast<std::size_t>(x)) * 4];
  }
  [[nodiscard]] GlTexture texture() const {
    auto texture = GlTexture::create(GL_TEXTURE_2D);
    glTextureStorage2D(texture.id(), 1, GL_RGBA8, static_cast<GLsizei>(size.width), static_cast<GLsizei>(size.height));
    write_to(texture.id());
    return texture;
  }
  void write_to(GLuint texture) const {
    glTextureSubImage2D(texture, 0, 0, 0, static_cast<GLsizei>(size.width), static_cast<GLsizei>(size.height), GL_RGBA,
                        GL_UNSIGNED_BYTE, values.data());
  }
  static BlendImage read_from(GLuint texture, Size size) {
    BlendImage image{.size = size};
    glGetTextureImage(texture, 0, GL_RGBA, GL_UNSIGNED_BYTE, static_cast<GLsizei>(image.values.size()),
                      image.values.data());
    return image;
  }
};

constexpr Size below_size{64, 48};
constexpr Size picture_size{41, 29};
constexpr Rectangle everywhere{0, 0, 64, 48};

/// Also with the extremes, which random values seldom have.
BlendImage random_image(Size size, Alpha alpha, std::mt19937& random) {
  BlendImage image{.size = size};
  const auto value = [&random] {
    const auto number = random();
    return static_cast<std::uint8_t>(number % 8 == 0 ? (number >> 8U) % 2 * 255 : (number >> 8U) % 256);
  };
  for (std::size_t i = 0; i < image.values.size(); i += 4) {
    const std::uint8_t a = value();
    for (std::size_t component = 0; component < 3; ++component) {
      const std::uint8_t c = value();
      image.values[i + component] = alpha == Alpha::premultiplied ? static_cast<std::uint8_t>(c * a / 255) : c;
    }
    image.values[i + 3] = a;
  }
  return image;
}

BlendImage random_background(std::mt19937& random) {
  BlendImage image = random_image(below_size, Alpha::straight, random);
  for (std::size_t i = 3; i < image.values.size(); i += 4) {
    image.values[i] = 255;
  }
  return image;
}

// ---- The reference ----

/// The curve of sRGB and its inverse: IEC 61966-2-1:1999, 5.2, equations 5 to 7.
double light_of(double coded) {
  return coded <= 0.04045 ? coded / 12.92 : std::pow((coded + 0.055) / 1.055, 2.4);
}
double coded_of(double light) {
  return light <= 0.0031308 ? 12.92 * light : 1.055 * std::pow(light, 1 / 2.4) - 0.055;
}

/// The formulas of Blend, for one component.
double blended(Blend blend, double s, double a, double d) {
  switch (blend) {
    case Blend::over:
      return s + d * (1 - a);
    case Blend::add:
      return std::min(s + d, 1.0);
    case Blend::multiply:
      return s * d + d * (1 - a);
    case Blend::screen:
      return s + d * (1 - s);
  }
  return 0;
}

/// One component of the result, 0 to 255. `source`: a texel with multiplied colours.
double reference_component(const BlendedPicture& picture, const std::uint8_t* source, const std::uint8_t* below,
                           std::size_t component) {
  const double a = source[3] / 255.0;
  double s = source[component] / 255.0;
  double d = below[component] / 255.0;
  if (picture.values == BlendValues::linear_light) {
    s = a == 0 ? 0 : light_of(s / a) * a;
    d = light_of(d);
  }
  const double result = blended(picture.blend, s * picture.opacity, a * picture.opacity, d);
  return 255 * (picture.values == BlendValues::linear_light ? coded_of(result) : result);
}

// ---- The tests ----

class BlenderTest : public GlTest {
 protected:
  /// Draws a frame of rgba at 1:1, as its alpha is meant.
  BlendImage painted(const BlendImage& frame, Alpha alpha) {
    const GlTexture texture = frame.texture();
    PaintedFrame described{.textures = {texture.id()}, .texture_count = 1, .size = frame.size};
    described.has_alpha = true;
    described.conversion = colour_conversion(PixelFormat::rgba, {}, frame.size.height);
    const OffscreenTarget target(frame.size);
    target.bind();
    painter_.draw(described, {0, 0, static_cast<int>(frame.size.width), static_cast<int>(frame.size.height)}, true,
                  alpha);
    return BlendImage::read_from(target.texture(), frame.size);
  }

  /// Lays a picture over `below`.
  BlendImage result(const BlendImage& below, const BlendedPicture& picture, const Rectangle& damage) {
    const Canvas canvas(below.size);
    below.write_to(canvas.texture());
    {
      const auto drawing = canvas.draw(picture.values);
      blender_.draw(picture, damage);
    }
    EXPECT_FALSE(glIsEnabled(GL_BLEND));
    return BlendImage::read_from(canvas.texture(), below.size);
  }

 private:
  FramePainter painter_;
  Blender blender_;
};

TEST_F(BlenderTest, PaintedFramesAreMultipliedByTheirAlphaOrOpaque) {
  std::mt19937 random(1);
  for (const Alpha alpha : {Alpha::opaque, Alpha::straight, Alpha::premultiplied}) {
    const BlendImage frame = random_image(picture_size, alpha, random);
    const BlendImage drawn = painted(frame, alpha);
    for (std::size_t i = 0; i < frame.values.size(); ++i) {
      const double a = frame.values[i / 4 * 4 + 3] / 255.0;
      const bool is_alpha = i % 4 == 3;
      const double straight = is_alpha && alpha == Alpha::opaque ? 255 : frame.values[i];
      const double expected = alpha == Alpha::straight && !is_alpha ? straight * a : straight;
      // Rounding; what is not multiplied is exact.
      ASSERT_NEAR(drawn.values[i], expected, alpha == Alpha::straight ? rounding_tolerance : 0.0) << i;
    }
  }
}

/// How far a value may be from the exact one. Opacity 0 changes nothing (but the reference is a sum of doubles). Coded
/// values with opacity 1 have one product to round: 1/2, and a little for floats. With another opacity a driver that
/// blends in 8 bits, as llvmpipe does, rounds the source's colour, its alpha and the product, 1/2 each, but not all of
/// them where the product is of 1: less than 3/2, and so the exact value, rounded, or one beside it. For linear light
/// drivers compute the curves roughly: on llvmpipe values are off by 0.9, on an H200 by 1.2.
double allowed_difference(const BlendedPicture& picture) {
  if (picture.opacity == 0) {
    return 1e-9;
  }
  const bool is_one_product = picture.values == BlendValues::coded && picture.opacity == 1;
  return is_one_product ? 0.503 : 1.4999;
}

/// Compares what lies in the picture with the reference, and the rest with what was there.
void expect_blended(const BlendImage& seen, const BlendImage& below, const BlendImage& image,
                    const BlendedPicture& picture, const Rectangle& damage) {
  ASSERT_EQ(seen.values.size(), below.values.size());
  const Rectangle changed = common_part(common_part(picture.place, damage), everywhere);
  for (int y = 0; y < everywhere.height; ++y) {
    for (int x = 0; x < everywhere.width; ++x) {
      SCOPED_TRACE(std::to_string(x) + "," + std::to_string(y));
      ASSERT_EQ(seen.at(x, y)[3], 255);
      const bool is_changed = !is_empty(common_part(changed, Rectangle{x, y, 1, 1}));
      for (std::size_t component = 0; component < 3; ++component) {
        const int value = seen.at(x, y)[component];
        if (!is_changed) {
          ASSERT_EQ(value, below.at(x, y)[component]);
          continue;
        }
        const std::uint8_t* source = image.at(x - picture.place.x, y - picture.place.y);
        ASSERT_NEAR(value, reference_component(picture, source, below.at(x, y), component),
                    allowed_difference(picture));
      }
    }
  }
}

TEST_F(BlenderTest, EveryWayOfBlendingAgreesWithItsFormula) {
  std::mt19937 random(2);
  for (int number = 0; number < 4 * 3 * 3 * 2; ++number) {
    const std::array<double, 3> opacities{1, 0.5, 0};
    const auto alpha = static_cast<Alpha>(number / 4 % 3);
    BlendedPicture picture{.place = {11, 7, picture_size.width, picture_size.height},
                           .blend = static_cast<Blend>(number % 4),
                           .opacity = opacities.at(static_cast<std::size_t>(number / 12 % 3)),
                           .values = static_cast<BlendValues>(number / 36)};
    SCOPED_TRACE("blend " + std::to_string(number % 4) + ", alpha " + std::to_string(number / 4 % 3) + ", opacity " +
                 std::to_string(picture.opacity) + ", values " + std::to_string(number / 36));
    const BlendImage below = random_background(random);
    const BlendImage image = painted(random_image(picture_size, alpha, random), alpha);
    const GlTexture texture = image.texture();
    picture.texture = texture.id();
    ASSERT_NO_FATAL_FAILURE(expect_blended(result(below, picture, everywhere), below, image, picture, everywhere));
  }
}

TEST_F(BlenderTest, NothingChangesOutsideTheRectangleAndTheDamage) {
  std::mt19937 random(3);
  const BlendImage below = random_background(random);
  const BlendImage image = random_image(picture_size, Alpha::premultiplied, random);
  const GlTexture texture = image.texture();
  for (const Rectangle& place : {Rectangle{0, 0, 41, 29},
                                 {-17, -9, 41, 29},
                                 {40, 30, 41, 29},
                                 {20, 40, 13, 5},
                                 {64, 0, 41, 29},
                                 {-41, 3, 41, 29}}) {
    for (const Rectangle& damage :
         {everywhere, Rectangle{-100, -100, 300, 300}, {5, 3, 18, 25}, {30, 20, 1, 1}, {12, 6, 0, 5}}) {
      for (const BlendValues values : {BlendValues::coded, BlendValues::linear_light}) {
        const BlendedPicture picture{texture.id(), place, Blend::over, 1, values};
        ASSERT_NO_FATAL_FAILURE(expect_blended(result(below, picture, damage), below, image, picture, damage))
            << place.x << "," << place.y << " damage " << damage.x << "," << damage.y;
      }
    }
  }
}

/// As many layers do: with opacity 1 and an opaque picture, its values, whatever is below.
TEST_F(BlenderTest, AnOpaquePictureReplacesWhatIsBelowAlsoInLinearLight) {
  BlendImage below{.size = {256, 2}};
  BlendImage image{.size = {256, 2}};
  for (std::size_t i = 0; i < image.values.size(); ++i) {
    image.values[i] = i % 4 == 3 ? 255 : static_cast<std::uint8_t>(i / 4);
    below.values[i] = 255;
  }
  const GlTexture texture = image.texture();
  for (const BlendValues values : {BlendValues::coded, BlendValues::linear_light}) {
    const Rectangle all{0, 0, 256, 2};
    EXPECT_EQ(result(below, {texture.id(), all, Blend::over, 1, values}, all).values, image.values);
  }
}

/// Half of the light of white is 188: 0.5 encoded. Coded values in the middle are 128.
TEST_F(BlenderTest, LinearLightMixesLight) {
  BlendImage below{.size = {1, 1}, .values = {0, 0, 0, 255}};
  const BlendImage white{.size = {1, 1}, .values = {128, 128, 128, 128}};
  const GlTexture texture = white.texture();
  const Rectangle all{0, 0, 1, 1};
  EXPECT_EQ(result(below, {texture.id(), all, Blend::over, 1, BlendValues::coded}, all).values[0], 128);
  EXPECT_EQ(result(below, {texture.id(), all, Blend::over, 1, BlendValues::linear_light}, all).values[0], 188);
}

/// Such colours come from renderers that add light, and from a peer that is wrong about its alpha.
TEST_F(BlenderTest, ColoursLargerThanTheirAlphaAreLightToo) {
  BlendImage below{.size = {2, 1}, .values = {10, 10, 10, 255, 10, 10, 10, 255}};
  const BlendImage glow{.size = {2, 1}, .values = {0, 60, 128, 0, 0, 0, 0, 0}};
  const GlTexture texture = glow.texture();
  const Rectangle all{0, 0, 2, 1};
  const BlendImage seen = result(below, {texture.id(), all, Blend::over, 1, BlendValues::linear_light}, all);
  EXPECT_EQ(seen.values[0], 10);
  EXPECT_GT(seen.values[1], 60);
  EXPECT_NEAR(seen.values[2], 255 * coded_of(128 / 255.0 + light_of(10 / 255.0)), 1);
  EXPECT_EQ(std::vector<std::uint8_t>(seen.values.begin() + 3, seen.values.end()),
            (std::vector<std::uint8_t>{255, 10, 10, 10, 255}));
}

}  // namespace
}  // namespace framewire
