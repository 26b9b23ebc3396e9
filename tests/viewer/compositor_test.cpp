#include "viewer/compositor.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "base/clock.hpp"
#include "tests/viewer/attached_headless.hpp"
#include "tests/viewer/received_frames.hpp"
#include "viewer/painters.hpp"

namespace framewire {
namespace {

constexpr Size compositor_surface{120, 80};

/// A layer with frames of one grey value, also in their alpha.
struct GreyLayer {
  explicit GreyLayer(Painters& painters, PixelFormat format = PixelFormat::rgba)
      : frames(format, 40, 30), layer(painters, false, statistics, Quality::fast) {}

  void show(std::uint8_t new_value) {
    value = new_value;
    ASSERT_EQ(layer.upload(frames.make(++sequence, new_value)), Layer::Upload::done);
    layer.forget_memory();
  }

  FrameMaker frames;
  Statistics statistics;
  Layer layer;
  std::uint64_t sequence = 0;
  int value = -1;  // none yet
};

class CompositorTest : public testing::Test {
 protected:
  void add_layers(int count) {
    for (int i = 0; i < count; ++i) {
      layers_.push_back(std::make_unique<GreyLayer>(painters_));
      placed_.push_back({.layer = &layers_.back()->layer, .how = {}, .at = {}});
    }
  }

  void put(std::size_t index, const PictureRectangle& at) { placed_[index].at = {at, at}; }

  std::vector<std::byte> compose(Compositor& compositor, bool shows_everything = false) {
    compositor.compose(compositor_surface, placed_, in_linear_light_, 0);
    compositor.show(shown_.framebuffer(), shows_everything);
    std::vector<std::byte> pixels(shown_.size_bytes());
    shown_.read_rgba(pixels);
    return pixels;
  }

  /// The value of a pixel by the formulas of gl/blend.hpp.
  [[nodiscard]] double reference_at(int x, int y) const {
    double below = 0;
    for (std::size_t i = 0; i < placed_.size(); ++i) {
      const PictureRectangle& at = placed_[i].at.visible;
      const bool is_inside = x >= at.x && x < at.x + at.width && y >= at.y && y < at.y + at.height;
      if (is_inside && layers_[i]->value >= 0) {
        below = blended(placed_[i].how, layers_[i]->value / 255.0, below);
      }
    }
    return 255 * below;
  }

  static double blended(const SceneLayer& how, double value, double below) {
    const double alpha = how.opacity * (how.alpha == Alpha::opaque ? 1 : value);
    const double source = how.opacity * (how.alpha == Alpha::straight ? value * value : value);
    switch (how.blend) {
      case Blend::over:
        return source + below * (1 - alpha);
      case Blend::add:
        return std::min(source + below, 1.0);
      case Blend::multiply:
        return source * below + below * (1 - alpha);
      case Blend::screen:
        return source + below * (1 - source);
    }
    return NAN;
  }

  void expect_reference(const std::vector<std::byte>& pixels, double tolerance) {
    for (int y = 0; y < static_cast<int>(compositor_surface.height); ++y) {
      for (int x = 0; x < static_cast<int>(compositor_surface.width); ++x) {
        const std::size_t at =
            (static_cast<std::size_t>(y) * compositor_surface.width + static_cast<std::size_t>(x)) * 4;
        ASSERT_NEAR(std::to_integer<int>(pixels.at(at)), reference_at(x, y), tolerance) << x << ", " << y;
        ASSERT_EQ(std::to_integer<int>(pixels.at(at + 3)), 255);
      }
    }
  }

  AttachedHeadless attached_{compositor_surface};
  Painters painters_;
  OffscreenTarget shown_{compositor_surface};
  std::vector<std::unique_ptr<GreyLayer>> layers_;
  std::vector<PlacedLayer> placed_;
  bool in_linear_light_ = false;
};

TEST_F(CompositorTest, IsBlackWithoutPictures) {
  add_layers(2);
  put(0, {0, 0, 60, 80});
  put(1, {60, 0, 60, 80});
  Compositor compositor;
  expect_reference(compose(compositor), 0);
}

TEST_F(CompositorTest, PicturesSideBySideAreAsTheyAre) {
  add_layers(3);
  put(0, {0, 0, 60, 40});
  put(1, {60, 0, 60, 40});
  put(2, {11, 43, 97, 31});
  Compositor compositor;
  for (const int value : {10, 100, 200}) {
    for (auto& layer : layers_) {
      layer->show(static_cast<std::uint8_t>(value + (&layer - layers_.data())));
      expect_reference(compose(compositor), 0);
    }
  }
}

TEST_F(CompositorTest, WhatHasNotChangedIsNotShownAgain) {
  add_layers(2);
  put(0, {0, 0, 60, 80});
  put(1, {60, 0, 60, 80});
  layers_[0]->show(50);
  layers_[1]->show(60);
  Compositor compositor;
  compose(compositor);
  const std::array<std::uint8_t, 4> other{1, 2, 3, 4};
  glClearTexImage(shown_.texture(), 0, GL_RGBA, GL_UNSIGNED_BYTE, other.data());
  layers_[1]->show(70);
  const auto pixels = compose(compositor);
  EXPECT_EQ(std::to_integer<int>(pixels[0]), 1) << "the left half is what another has drawn there";
  EXPECT_EQ(std::to_integer<int>(pixels[119 * 4]), 70);
  expect_reference(compose(compositor, true), 0);
}

TEST_F(CompositorTest, AHiddenLayerIsNotDrawn) {
  add_layers(2);
  put(0, {0, 0, 120, 80});
  put(1, {10, 10, 20, 20});
  layers_[0]->show(50);
  layers_[1]->show(60);
  Compositor compositor;
  expect_reference(compose(compositor), 0);
  put(1, {});
  expect_reference(compose(compositor), 0);
}

TEST_F(CompositorTest, APictureThatIsLargerThanItsBoxIsCutOff) {
  add_layers(2);
  placed_[0].at = {.picture = {-50, -20, 300, 160}, .visible = {20, 10, 60, 50}};
  placed_[1].at = {.picture = {90, 60, 100, 100}, .visible = {90, 60, 30, 20}};  // the surface ends there
  layers_[0]->show(50);
  layers_[1]->show(60);
  Compositor compositor;
  expect_reference(compose(compositor), 0);
}

/// After any changes the picture is the same as if it were composed anew, and that of the formulas.
TEST_F(CompositorTest, ComposingWhatHasChangedIsComposingEverything) {
  constexpr int seeds = 12, steps = 25;
  for (unsigned seed = 0; seed < seeds; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937 random(seed);
    const auto below = [&](int limit) { return static_cast<int>(random() % static_cast<unsigned>(limit)); };
    layers_.clear();
    placed_.clear();
    add_layers(4);
    in_linear_light_ = false;
    Compositor compositor;
    for (int step = 0; step < steps; ++step) {
      const auto index = static_cast<std::size_t>(below(4));
      if (step < 4 || below(3) == 0) {
        const int x = below(100), y = below(60);
        put(index, {x, y, 1 + below(120 - x), 1 + below(80 - y)});
      }
      if (below(4) == 0) {
        placed_[index].how = {.blend = static_cast<Blend>(below(4)),
                              .alpha = static_cast<Alpha>(below(3)),
                              .opacity = below(2) == 0 ? 1 : 0.5};
      }
      layers_[index]->show(static_cast<std::uint8_t>(below(256)));
      const auto pixels = compose(compositor);
      Compositor anew;
      anew.compose(compositor_surface, placed_, false, 0);
      const OffscreenTarget other(compositor_surface);
      anew.show(other.framebuffer(), true);
      std::vector<std::byte> expected(other.size_bytes());
      other.read_rgba(expected);
      ASSERT_EQ(pixels, expected) << "step " << step;
      expect_reference(pixels, 4 * 1.5);  // each of four blends rounds
    }
  }
}

/// The mean of black and white in light is 188 of 255 (IEC 61966-2-1), not 128.
TEST_F(CompositorTest, LinearLightIsBlendedOnRequest) {
  add_layers(2);
  put(0, {0, 0, 120, 80});
  put(1, {0, 0, 60, 80});
  layers_[0]->show(0);
  layers_[1]->show(255);
  placed_[1].how.opacity = 0.5;
  Compositor compositor;
  EXPECT_NEAR(std::to_integer<int>(compose(compositor)[0]), 128, 1);
  in_linear_light_ = true;
  EXPECT_NEAR(std::to_integer<int>(compose(compositor)[0]), 188, 1);
  in_linear_light_ = false;
  EXPECT_NEAR(std::to_integer<int>(compose(compositor)[0]), 128, 1);
}

}  // namespace
}  // namespace framewire
