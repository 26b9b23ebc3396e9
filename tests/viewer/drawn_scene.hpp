// Draws scenes from their file's text, and compares each pixel with what docs/scenes.md says.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <numbers>
#include <string>
#include <vector>

#include "gl/offscreen_target.hpp"
#include "tests/viewer/attached_headless.hpp"
#include "tests/viewer/documented_scenes.hpp"
#include "tests/viewer/received_frames.hpp"
#include "tests/viewer/scene_reference.hpp"
#include "viewer/composition.hpp"
#include "viewer/scene_file.hpp"

namespace framewire {

/// What a stream's pixels are like.
enum class Content {
  random,         // like no others: of the frame, or of another stream's
  waves,          // soft, so that every good filter leaves them as they are; level at the frame's edges
  waves_in_noise  // the same colours, and random alphas
};

/// How a scene is drawn and compared.
struct DrawnHow {
  Quality quality = Quality::fast;
  Content content = Content::random;
  test::ReferenceTolerance tolerance{};
};

/// A stream with such pixels.
struct PixelStream {
  PixelStream(Painters& painters, Size size, std::uint32_t number, const DrawnHow& how, bool is_premultiplied)
      : frames(PixelFormat::rgba, size.width, size.height), layer(painters, false, statistics, how.quality) {
    picture.width = static_cast<int>(size.width);
    picture.height = static_cast<int>(size.height);
    for (std::uint32_t y = 0; y < size.height; ++y) {
      for (std::uint32_t x = 0; x < size.width; ++x) {
        const std::array<std::uint32_t, 4> pixel = how.content == Content::random
                                                       ? random_pixel(number, y * size.width + x)
                                                       : wave_pixel(number, size, x, y, how.content);
        for (std::size_t i = 0; i < 3; ++i) {
          picture.values.push_back(
              static_cast<std::uint8_t>(is_premultiplied ? pixel.at(i) * pixel[3] / 255 : pixel.at(i)));
        }
        picture.values.push_back(static_cast<std::uint8_t>(pixel[3]));
      }
    }
  }

  void upload() {
    ReceivedFrame frame = frames.make(1);
    for (std::size_t i = 0; i < picture.values.size(); ++i) {
      frames.bytes()[i] = static_cast<std::byte>(picture.values[i]);
    }
    ASSERT_EQ(layer.upload(std::move(frame)), Layer::Upload::done);
    layer.forget_memory();
  }

  test::ReferenceFrame picture;
  FrameMaker frames;
  Statistics statistics;
  Layer layer;

 private:
  static std::uint32_t random_bits(std::uint32_t number, std::uint32_t i) {
    std::uint32_t random = (i * 2'654'435'761U) ^ (number * 0x9e37'79b9U + 0x7f4a'7c15U);
    random = (random ^ random >> 15U) * 0x2c1b'3c6dU;
    random = (random ^ random >> 12U) * 0x297a'2d39U;
    return random ^ random >> 15U;
  }

  /// Colours are multiples of 16, so that the mean of four neighbours, and the values half between two of them, are
  /// whole numbers: the GPU has to find them exactly. Alphas are thirds, whose products with colours are never half-way
  /// between two numbers.
  static std::array<std::uint32_t, 4> random_pixel(std::uint32_t number, std::uint32_t i) {
    const std::uint32_t random = random_bits(number, i);
    return {random % 16 * 16, random / 16 % 16 * 16, random / 256 % 16 * 16, (random >> 12U) % 4 * 85};
  }

  /// Half a wave has 16 pixels or more, and a fifth of the frame.
  static std::array<std::uint32_t, 4> wave_pixel(std::uint32_t number, Size size, std::uint32_t x, std::uint32_t y,
                                                 Content content) {
    const auto wave = [](std::uint32_t at, std::uint32_t length) {
      const double half_waves = std::clamp(std::floor(length / 16.0), 1.0, 5.0);
      return std::cos(std::numbers::pi * half_waves * (at + 0.5) / length);
    };
    const double sign = number % 2 == 0 ? 1 : -1;
    const double across = sign * wave(x, size.width), down = wave(y, size.height);
    const auto value = [](double wanted) { return static_cast<std::uint32_t>(std::lround(wanted)); };
    const std::uint32_t alpha =
        content == Content::waves_in_noise ? random_bits(number, y * size.width + x) % 256 : value(150 - 90 * down);
    return {value(128 + 100 * across), value(128 + 100 * down), value(110 + 20 * number % 60 - 90 * across * down),
            alpha};
  }
};

class DrawnSceneTest : public testing::Test {
 protected:
  void SetUp() override { facts_.status.state = SubscriberState::connected; }

  /// Draws the scene from its file's text, and compares.
  void expect_as_documented(const DrawnScene& drawn, const DrawnHow& how) {
    SCOPED_TRACE(drawn.what);
    SCOPED_TRACE(test::text_of(drawn.scene));
    std::vector<test::ReferenceFrame> pictures;
    std::vector<std::unique_ptr<PixelStream>> streams;
    std::vector<ComposedStream> composed;
    ASSERT_EQ(drawn.frames.size(), drawn.scene.layers.size());
    for (std::size_t i = 0; i < drawn.frames.size(); ++i) {
      streams.push_back(std::make_unique<PixelStream>(
          painters_, drawn.frames[i], static_cast<std::uint32_t>(i), how,
          drawn.scene.layers[i].alpha == "premultiplied" || drawn.alpha_mode == AlphaMode::premultiplied));
      ASSERT_NO_FATAL_FAILURE(streams.back()->upload());
      pictures.push_back(streams.back()->picture);
      composed.push_back(
          {.layer = &streams.back()->layer, .facts = &facts_, .statistics = &streams.back()->statistics});
    }
    const OffscreenTarget target(drawn.surface);
    target.bind();
    Composition composition;
    composition.show(parse_scene(test::text_of(drawn.scene), "scene.toml"));
    facts_.status.format.emplace().alpha_mode = drawn.alpha_mode;
    composition.draw({.size = drawn.surface}, composed, 1);
    std::vector<std::byte> seen(target.size_bytes());
    target.read_rgba(seen);
    const int width = static_cast<int>(drawn.surface.width), height = static_cast<int>(drawn.surface.height);
    expect_pixels(seen, test::picture_of(as_meant(drawn), pictures, width, height, how.tolerance), width);
    drawn_qualities_.clear();
    for (const auto& stream : streams) {
      drawn_qualities_.push_back(stream->layer.quality());
    }
  }

  /// With what the streams say in place of the usual alpha.
  static test::ReferenceScene as_meant(const DrawnScene& drawn) {
    test::ReferenceScene meant = drawn.scene;
    for (std::size_t i = 1; i < meant.layers.size() && drawn.alpha_mode == AlphaMode::premultiplied; ++i) {
      test::ReferenceLayer& layer = meant.layers[i];
      const bool has_alpha = meant.layout == "overlay" && (layer.blend.empty() || layer.blend == "over");
      layer.alpha = has_alpha && layer.alpha.empty() ? "premultiplied" : layer.alpha;
    }
    return meant;
  }

  static void expect_pixels(const std::vector<std::byte>& seen, const std::vector<test::ReferenceColour>& expected,
                            int width) {
    ASSERT_EQ(seen.size(), expected.size() * 4);
    for (std::size_t i = 0; i < seen.size(); ++i) {
      const test::ReferenceColour& pixel = expected[i / 4];
      const double value = i % 4 == 3 ? 255 : pixel.value.at(i % 4);
      ASSERT_NEAR(std::to_integer<int>(seen[i]), value, (i % 4 == 3 ? 0 : pixel.tolerance) + 1e-9)
          << "at " << i / 4 % static_cast<std::size_t>(width) << "," << i / 4 / static_cast<std::size_t>(width)
          << " component " << i % 4;
    }
  }

  AttachedHeadless attached_{{16, 16}};
  Painters painters_;
  StreamFacts facts_{.peer_text = "box", .status = {}, .lost_message = {}};
  std::vector<Quality> drawn_qualities_;  // of the last scene's layers
};

}  // namespace framewire
