// Where PlaceboPainter draws, how it scales, what it does with alpha, and the GL state that it leaves.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <numeric>
#include <vector>

#include "tests/pixels/placebo_test.hpp"
#include "tests/pixels/reference.hpp"

namespace framewire {
namespace {

using Pixel = std::array<std::uint8_t, 4>;

constexpr Pixel background = {10, 200, 30, 77};

/// Random RGBA.
Picture noise(Size size, PixelFormat format = PixelFormat::rgba) {
  Picture picture(format, size);
  fill_with_content(format, picture.bytes, size.width);
  return picture;
}

/// A target full of the background.
class Canvas {
 public:
  explicit Canvas(Size size) : target_(size) {
    target_.bind();
    glClearColor(background[0] / 255.0F, background[1] / 255.0F, background[2] / 255.0F, background[3] / 255.0F);
    glClear(GL_COLOR_BUFFER_BIT);
  }

  [[nodiscard]] Size size() const { return target_.size(); }
  [[nodiscard]] GLuint framebuffer() const { return target_.framebuffer(); }

  /// Reads what was drawn: row 0 is GL's.
  void read() {
    bytes_.resize(target_.size_bytes());
    target_.read_rgba(bytes_, OffscreenTarget::RowOrder::top_down);
  }
  [[nodiscard]] Pixel at(int x, int y) const {
    Pixel pixel{};
    std::memcpy(pixel.data(),
                &bytes_[(std::size_t{size().width} * static_cast<std::size_t>(y) + static_cast<std::size_t>(x)) * 4],
                4);
    return pixel;
  }

 private:
  OffscreenTarget target_;
  std::vector<std::byte> bytes_;
};

Pixel pixel_of(const Picture& picture, int x, int y) {
  Pixel pixel{};
  const auto place = static_cast<std::size_t>(y) * picture.layout.width + static_cast<std::size_t>(x);
  std::memcpy(pixel.data(), &picture.bytes[place * 4], 4);
  return pixel;
}

class PlaceboPlace : public PlaceboTest {
 protected:
  static constexpr std::array<Rectangle, 9> places = {{{5, 7, 20, 10},
                                                       {0, 0, 40, 30},
                                                       {-6, -3, 20, 10},
                                                       {30, 25, 20, 10},
                                                       {-5, 3, 60, 10},
                                                       {3, -5, 10, 60},
                                                       {-10, -10, 70, 60},
                                                       {39, 29, 20, 20},
                                                       {-19, -9, 20, 10}}};

  static bool is_inside(const Rectangle& place, int x, int y) {
    return x >= place.x && x < place.x + place.width && y >= place.y && y < place.y + place.height;
  }
};

TEST_F(PlaceboPlace, IsTheRectangleAndEveryPixelOfIt) {
  for (const bool flip_y : {false, true}) {
    for (const Rectangle& place : places) {
      const Picture picture =
          noise({static_cast<std::uint32_t>(place.width), static_cast<std::uint32_t>(place.height)});
      Canvas canvas({40, 30});
      draw(picture, place, canvas.size(), flip_y);
      canvas.read();
      for (int y = 0; y < 30; ++y) {
        for (int x = 0; x < 40; ++x) {
          const int from_below = y - place.y;
          const int row = flip_y ? from_below : place.height - 1 - from_below;
          const Pixel expected = is_inside(place, x, y) ? pixel_of(picture, x - place.x, row) : background;
          ASSERT_EQ(canvas.at(x, y), expected)
              << place.x << " " << place.y << " " << place.width << ": " << x << " " << y << (flip_y ? " flipped" : "");
        }
      }
    }
  }
}

TEST_F(PlaceboPlace, IsKeptToWhenScaled) {
  for (const PixelFormat format : {PixelFormat::rgba, PixelFormat::nv12, PixelFormat::rgb24}) {
    for (const Size size : {Size{9, 5}, Size{200, 150}, Size{1, 1}}) {
      for (const Rectangle& place : places) {
        Canvas canvas({40, 30});
        draw(noise(size, format), place, canvas.size());
        canvas.read();
        for (int y = 0; y < 30; ++y) {
          for (int x = 0; x < 40; ++x) {
            ASSERT_TRUE(is_inside(place, x, y) || canvas.at(x, y) == background) << x << " " << y;
          }
        }
      }
    }
  }
}

TEST_F(PlaceboPlace, OutsideTheFramebufferIsNothing) {
  Canvas canvas({40, 30});
  for (const Rectangle& place : {Rectangle{40, 0, 10, 10}, {0, 30, 10, 10}, {-10, 0, 10, 10}, {0, 0, 0, 5}}) {
    draw(noise({10, 10}), place, canvas.size());
  }
  EXPECT_TRUE(painter->draw({}, PixelFormat::rgba, {}, {0, 0, 40, 30}, canvas.size(), false));
  canvas.read();
  EXPECT_EQ(canvas.at(0, 0), background);
  EXPECT_EQ(canvas.at(39, 29), background);
}

TEST_F(PlaceboPlace, IsRightInADeepZoom) {
  Picture picture = noise({4, 4});
  for (std::size_t i = 3; i < picture.bytes.size(); i += 4) {
    picture.bytes[i] = std::byte{255};
  }
  // The middle of pixel (2, 1), which covers 100000 x 100000.
  Canvas canvas({20, 10});
  draw(picture, {-250000, -250000, 400000, 400000}, canvas.size());
  canvas.read();
  const Pixel expected = pixel_of(picture, 2, 1);
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_NEAR(canvas.at(10, 5).at(i), expected.at(i), 2);
  }
  // Half of a frame that has one pixel.
  const Picture dot = noise({1, 1}, PixelFormat::yuv444p);
  draw(dot, {-900, -900, 1000, 1000}, canvas.size());
  canvas.read();
  const auto of_dot = reference_pixel(dot.layout, dot.bytes, {}, 0, 0);
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_NEAR(canvas.at(10, 5).at(i), of_dot.at(i), 1.5);
  }
}

/// What the framebuffer cuts off changes nothing of what it shows.
TEST_F(PlaceboPlace, CutsOffWithoutMovingTheRest) {
  for (const PixelFormat format : {PixelFormat::rgba, PixelFormat::nv12}) {
    for (const bool flip_y : {false, true}) {
      for (const int scale_percent : {70, 130, 420, 1730}) {
        const Picture picture = noise({30, 20}, format);
        const int width = 30 * scale_percent / 100;
        const int height = 20 * scale_percent / 100;
        Canvas whole({static_cast<std::uint32_t>(width), static_cast<std::uint32_t>(height)});
        draw(picture, {0, 0, width, height}, whole.size(), flip_y);
        whole.read();
        for (const auto& [right, up] : {std::pair{3, 5}, {-7, -4}, {-width / 2, 2}, {1, -height / 2}}) {
          Canvas part({static_cast<std::uint32_t>(width), static_cast<std::uint32_t>(height)});
          draw(picture, {right, up, width, height}, part.size(), flip_y);
          part.read();
          int largest = 0;
          for (int y = std::max(up, 0); y < std::min(up, 0) + height; ++y) {
            for (int x = std::max(right, 0); x < std::min(right, 0) + width; ++x) {
              for (std::size_t i = 0; i < 4; ++i) {
                largest = std::max(largest, std::abs(part.at(x, y).at(i) - whole.at(x - right, y - up).at(i)));
              }
            }
          }
          EXPECT_LE(largest, 1) << info(format).name << " " << scale_percent << " " << right << " " << up << flip_y;
        }
      }
    }
  }
}

class PlaceboScale : public PlaceboTest {};

/// Alternating black and white pixels, the hardest input for scaling down.
Picture checkerboard(std::uint32_t side, PixelFormat format) {
  Picture picture(format, {side, side});
  const std::size_t texel = format == PixelFormat::rgba ? 4 : 1;
  std::ranges::fill(picture.bytes, std::byte{format == PixelFormat::rgba ? std::uint8_t{255} : std::uint8_t{128}});
  for (std::uint32_t i = 0; i < side * side; ++i) {
    const bool is_white = (i + i / side) % 2 == 0;
    const std::uint8_t value = format == PixelFormat::rgba ? (is_white ? 255 : 0) : (is_white ? 235 : 16);
    std::fill_n(picture.bytes.begin() + static_cast<std::ptrdiff_t>(i * texel), texel == 4 ? 3 : 1, std::byte{value});
  }
  return picture;
}

TEST_F(PlaceboScale, DownIsTheMeanInCodedValuesAtEveryRatio) {
  for (const PixelFormat format : {PixelFormat::rgba, PixelFormat::nv12}) {
    const Picture picture = checkerboard(240, format);
    for (const double ratio : {1.0, 1.25, 1.5, 2.0, 2.5, 3.0, 3.5, 4.0}) {
      const auto side = static_cast<std::uint32_t>(std::lround(240 / ratio));
      const auto pixels = drawn(picture, {side, side});
      double sum = 0;
      double largest = 0;
      // The frame's edge repeats the pixels there, so the mean near it differs.
      const std::uint32_t margin = ratio == 1.0 ? 0 : 4;
      for (std::uint32_t y = margin; y < side - margin; ++y) {
        for (std::uint32_t x = margin; x < side - margin; ++x) {
          const double value = std::to_integer<int>(pixels[(std::size_t{y} * side + x) * 4]);
          sum += value;
          largest = std::max(largest, std::abs(value - 127.5));
        }
      }
      EXPECT_NEAR(sum / ((side - 2 * margin) * (side - 2 * margin)), 127.5, 2) << ratio;
      if (ratio > 1.0) {
        EXPECT_LE(largest, ratio < 1.5 ? 16 : 8) << ratio;  // the filter passes a tenth of what is near the limit
      }
    }
  }
}

TEST_F(PlaceboScale, NeverChangesAFlatColour) {
  for (const PixelFormat format : {PixelFormat::rgba, PixelFormat::nv12, PixelFormat::yuv420p10le, PixelFormat::uyvy422,
                                   PixelFormat::gray8, PixelFormat::bgr24}) {
    Picture picture(format, {64, 48});
    const bool is_ten_bits = info(format).depth > 8;
    for (std::size_t i = 0; i < picture.bytes.size(); ++i) {
      picture.bytes[i] = is_ten_bits ? std::byte{i % 2 == 0 ? std::uint8_t{0x50} : std::uint8_t{2}} : std::byte{144};
    }
    const auto expected = reference_pixel(picture.layout, picture.bytes, {}, 0, 0);
    for (const Size size : {Size{30, 20}, Size{64, 20}, Size{30, 48}, Size{100, 90}, Size{128, 20}, Size{7, 5}}) {
      const auto pixels = drawn(picture, size);
      for (std::size_t i = 0; i < pixels.size(); ++i) {
        ASSERT_NEAR(std::to_integer<int>(pixels[i]), expected.at(i % 4), 1.5)
            << info(format).name << " " << size.width << "x" << size.height << " " << i;
      }
    }
  }
}

/// One white pixel is a spot, and as bright as it was: the filter neither shifts nor mirrors it.
TEST_F(PlaceboScale, UpKeepsPositions) {
  Picture picture(PixelFormat::gray8, {16, 16});
  picture.bytes[5 * 16 + 9] = std::byte{255};
  const auto pixels = drawn(picture, {64, 64});
  double weight = 0;
  double x_mean = 0;
  double y_mean = 0;
  for (std::size_t i = 0; i < std::size_t{64} * 64; ++i) {
    const double value = std::to_integer<int>(pixels[i * 4]);
    const std::size_t row = i / 64;
    weight += value;
    x_mean += value * (static_cast<double>(i % 64) + 0.5);
    y_mean += value * (static_cast<double>(row) + 0.5);
  }
  EXPECT_NEAR(x_mean / weight, 9.5 * 4, 0.3);
  EXPECT_NEAR(y_mean / weight, 5.5 * 4, 0.3);
  EXPECT_GT(std::to_integer<int>(pixels[(std::size_t{22} * 64 + 38) * 4]), 200);
}

/// Soft waves, which every good filter leaves as they are.
Picture waves(PixelFormat format) {
  Picture picture(format, {96, 64});
  for (std::uint32_t plane = 0; plane < picture.layout.plane_count; ++plane) {
    const PlaneLayout& where = picture.layout.planes.at(plane);
    const std::uint32_t texel = info(format).planes.at(plane).bytes_per_texel;
    const double step = plane == 0 ? 1 : 2;  // of nv12 and yuv420p
    for (std::uint32_t y = 0; y < where.rows; ++y) {
      for (std::uint32_t i = 0; i < where.row_bytes; ++i) {
        const std::uint32_t x = i / texel;
        const double angle = (step * x + (i % texel) * 9.0) / 11 + step * y / 13 + plane;
        picture.bytes[where.offset_bytes + std::size_t{y} * where.pitch_bytes + i] =
            static_cast<std::byte>(std::lround(128 + 60 * std::sin(angle)));
      }
    }
  }
  return picture;
}

TEST_F(PlaceboScale, PutsEverythingWhereTheOtherPainterDoes) {
  using enum ChromaLocation;
  for (const PixelFormat format : {PixelFormat::rgba, PixelFormat::rgb24, PixelFormat::nv12, PixelFormat::yuv420p}) {
    for (const ChromaLocation location : {left, center, topleft, top, bottomleft, bottom}) {
      Picture picture = waves(format);
      picture.chroma_location = location;
      for (const Size size : {Size{192, 128}, Size{144, 100}, Size{64, 48}, Size{48, 32}, Size{96, 40}}) {
        const auto good = drawn(picture, size);
        const OffscreenTarget target(size);
        target.bind();
        FramePainter().draw(texture->painted(), {0, 0, static_cast<int>(size.width), static_cast<int>(size.height)},
                            false);
        std::vector<std::byte> fast(target.size_bytes());
        target.read_rgba(fast);
        int largest = 0;
        for (std::size_t i = 0; i < good.size(); ++i) {
          largest = std::max(largest, std::abs(std::to_integer<int>(good[i]) - std::to_integer<int>(fast[i])));
        }
        // Dithering and rounding; where chroma is scaled, the fast quality's own rounding, too.
        EXPECT_LE(largest, info(format).is_yuv ? 7 : 3)
            << info(format).name << " " << name(location) << " " << size.width << "x" << size.height;
      }
    }
  }
}

class PlaceboAlpha : public PlaceboTest {};

TEST_F(PlaceboAlpha, ComesOutAsItWentIn) {
  Picture picture = noise({31, 17});
  for (std::size_t i = 3; i < picture.bytes.size() / 2; i += 4) {
    picture.bytes[i] = std::byte{0};  // colour stays, too: many programs leave nonsense in alpha
  }
  EXPECT_EQ(drawn(picture, {31, 17}), picture.bytes);
  const auto larger = drawn(picture, {62, 34});
  EXPECT_EQ(larger[(std::size_t{3} * 62 + 10) * 4 + 3], std::byte{0});
}

TEST_F(PlaceboAlpha, IsUsedOnceIfBlendingIsOn) {
  Picture picture(PixelFormat::rgba, {8, 8});
  for (std::size_t i = 0; i < picture.bytes.size(); i += 4) {
    constexpr std::array<std::uint8_t, 4> half_red = {200, 0, 0, 51};
    std::memcpy(&picture.bytes[i], half_red.data(), 4);
  }
  for (const int side : {8, 16}) {
    Canvas canvas({16, 16});
    glEnable(GL_BLEND);
    draw(picture, {0, 0, side, side}, canvas.size());
    glDisable(GL_BLEND);
    canvas.read();
    EXPECT_NEAR(canvas.at(3, 3)[0], 200 * 0.2 + background[0] * 0.8, 1.5);
    EXPECT_NEAR(canvas.at(3, 3)[1], background[1] * 0.8, 1.5);
  }
}

class PlaceboState : public PlaceboTest {};

GLint integer(GLenum name) {
  GLint value = 0;
  glGetIntegerv(name, &value);
  return value;
}

TEST_F(PlaceboState, IsAsItWas) {
  const Picture picture = noise({20, 20}, PixelFormat::nv12);
  for (const bool blends : {false, true}) {
    Canvas canvas({40, 30});
    (blends ? glEnable : glDisable)(GL_BLEND);
    glBlendFuncSeparate(GL_DST_COLOR, GL_ONE, GL_ZERO, GL_SRC_ALPHA);
    glViewport(1, 2, 3, 4);
    draw(picture, {0, 0, 40, 30}, canvas.size());
    EXPECT_EQ(glIsEnabled(GL_BLEND) == GL_TRUE, blends);
    EXPECT_EQ(integer(GL_BLEND_SRC_RGB), GL_DST_COLOR);
    EXPECT_EQ(integer(GL_BLEND_DST_ALPHA), GL_SRC_ALPHA);
    EXPECT_EQ(integer(GL_DRAW_FRAMEBUFFER_BINDING), static_cast<GLint>(canvas.framebuffer()));
    EXPECT_EQ(integer(GL_ACTIVE_TEXTURE), GL_TEXTURE0);
    EXPECT_EQ(integer(GL_UNPACK_ALIGNMENT), 4);
    EXPECT_EQ(integer(GL_UNPACK_ROW_LENGTH), 0);
    EXPECT_EQ(integer(GL_PIXEL_UNPACK_BUFFER_BINDING), 0);
    EXPECT_EQ(integer(GL_ARRAY_BUFFER_BINDING), 0);
    EXPECT_FALSE(glIsEnabled(GL_SCISSOR_TEST));
    std::array<GLint, 4> viewport{};
    glGetIntegerv(GL_VIEWPORT, viewport.data());
    EXPECT_EQ(viewport, (std::array<GLint, 4>{1, 2, 3, 4}));
    for (std::size_t i = 0; i < texture->painted().texture_count; ++i) {
      const auto parameter = [&](GLenum name) {
        GLint value = 0;
        glGetTextureParameteriv(texture->painted().textures.at(i), name, &value);
        return value;
      };
      EXPECT_EQ(parameter(GL_TEXTURE_MIN_FILTER), GL_LINEAR);
      EXPECT_EQ(parameter(GL_TEXTURE_MAG_FILTER), GL_LINEAR);
      EXPECT_EQ(parameter(GL_TEXTURE_WRAP_S), GL_CLAMP_TO_EDGE);
      EXPECT_EQ(parameter(GL_TEXTURE_WRAP_T), GL_CLAMP_TO_EDGE);
    }
    glDisable(GL_BLEND);
    glBlendFunc(GL_ONE, GL_ZERO);
  }
}

TEST_F(PlaceboState, LetsTheOtherPainterDrawAndUploadAsBefore) {
  for (const PixelFormat format : {PixelFormat::rgba, PixelFormat::nv12, PixelFormat::yuv420p10le}) {
    const Picture picture = noise({64, 36}, format);
    const OffscreenTarget target({64, 36});
    const auto plainly_drawn = [&](int width, int height) {
      target.bind();
      glClear(GL_COLOR_BUFFER_BIT);
      EXPECT_TRUE(texture->upload(picture.view()));
      FramePainter().draw(texture->painted(), {0, 0, width, height}, false);
      std::vector<std::byte> pixels(target.size_bytes());
      target.read_rgba(pixels);
      return pixels;
    };
    glClearColor(0, 0, 0, 0);
    const auto exact = plainly_drawn(64, 36);
    const auto scaled = plainly_drawn(50, 20);
    for (const Size size : {Size{64, 36}, Size{20, 10}}) {
      EXPECT_FALSE(drawn(picture, size).empty());
      EXPECT_EQ(plainly_drawn(64, 36), exact);
      EXPECT_FALSE(drawn(picture, size).empty());
      EXPECT_EQ(plainly_drawn(50, 20), scaled);
    }
  }
}

/// GL reuses the numbers of deleted textures and framebuffers.
TEST_F(PlaceboState, FollowsTexturesWhoseNumbersAreReused) {
  for (std::uint32_t i = 0; i < 40; ++i) {
    const Picture picture = noise({10 + i % 7, 20 - i % 3}, i % 2 == 0 ? PixelFormat::rgba : PixelFormat::bgra);
    const Picture same = noise({12, 12});
    EXPECT_EQ(drawn(same, {12, 12}), same.bytes);
    const auto pixels = drawn(picture, {picture.layout.width, picture.layout.height});
    EXPECT_EQ(pixels[1], picture.bytes[1]);
    EXPECT_EQ(pixels[0], picture.bytes[i % 2 == 0 ? 0 : 2]);
    if (i % 10 == 9) {
      painter->forget_textures();
    }
  }
}

}  // namespace
}  // namespace framewire
