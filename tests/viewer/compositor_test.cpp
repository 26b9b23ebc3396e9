#include "viewer/compositor.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <memory>
#include <random>
#include <utility>
#include <vector>

#include "base/clock.hpp"
#include "tests/viewer/attached_headless.hpp"
#include "tests/viewer/received_frames.hpp"
#include "viewer/painters.hpp"

namespace framewire {
namespace {

constexpr Size compositor_surface{120, 80};
constexpr int frame_width = 40, frame_height = 30;
constexpr double exactly = 1e-6;
constexpr double filtered = 2;  // the GPU rounds positions, too

/// Means over a part of a frame, from 0 to 1.
struct Means {
  double value = 0;
  double multiplied = 0;  // by the alpha
};

/// A layer with frames that have one value in each pixel, for its three colours and its alpha.
struct ValueLayer {
  explicit ValueLayer(Painters& painters)
      : frames(PixelFormat::rgba, frame_width, frame_height), layer(painters, false, statistics, Quality::fast) {}

  /// The same value everywhere.
  void show(int value) {
    values.assign(std::size_t{frame_width} * frame_height, value);
    upload();
  }

  /// Four quarters with a gradient in each. No two pixels of a row or column are alike, so that a picture that is
  /// moved, turned over or cut in the wrong place is another one.
  void show_quarters(int first) {
    values.clear();
    for (int y = 0; y < frame_height; ++y) {
      for (int x = 0; x < frame_width; ++x) {
        const int quarter = 2 * (2 * y / frame_height) + 2 * x / frame_width;
        values.push_back((first + 60 * quarter + x % (frame_width / 2) + 2 * (y % (frame_height / 2))) % 256);
      }
    }
    upload();
  }

  void upload() {
    ReceivedFrame frame = frames.make(++sequence);
    for (std::size_t i = 0; i < frames.bytes().size(); ++i) {
      frames.bytes()[i] = static_cast<std::byte>(values[i / 4]);
    }
    ASSERT_EQ(layer.upload(std::move(frame)), Layer::Upload::done);
    layer.forget_memory();
  }

  /// What a pixel of a picture of the frame covers on one axis: never less than one of the frame's pixels, which is
  /// linear interpolation where the frame is enlarged.
  struct Covered {
    double from;
    double to;
    [[nodiscard]] double part_of(int pixel) const {
      return std::min(pixel + 1.0, to) - std::max(static_cast<double>(pixel), from);
    }
  };
  static Covered covered(int pixel, int picture_length, int frame_length) {
    const double scale = static_cast<double>(frame_length) / picture_length;
    const double middle = (pixel + 0.5) * scale, half = std::max(scale, 1.0) / 2;
    return {std::max(middle - half, 0.0), std::min(middle + half, static_cast<double>(frame_length))};
  }

  /// At a pixel of the surface.
  [[nodiscard]] Means means(const PictureRectangle& picture, int x, int y) const {
    const Covered across = covered(x - picture.x, picture.width, frame_width);
    const Covered down = covered(y - picture.y, picture.height, frame_height);
    const double area = (across.to - across.from) * (down.to - down.from);
    Means means;
    for (int j = static_cast<int>(down.from); j < down.to; ++j) {
      for (int i = static_cast<int>(across.from); i < across.to; ++i) {
        const double weight = across.part_of(i) * down.part_of(j) / area;
        const double value = values[static_cast<std::size_t>(j) * frame_width + static_cast<std::size_t>(i)] / 255.0;
        means.value += weight * value;
        means.multiplied += weight * value * value;
      }
    }
    return means;
  }

  FrameMaker frames;
  Statistics statistics;
  Layer layer;
  std::uint64_t sequence = 0;
  std::vector<int> values;  // of the frame; none yet
};

class CompositorTest : public testing::Test {
 protected:
  void add_layers(int count) {
    for (int i = 0; i < count; ++i) {
      layers_.push_back(std::make_unique<ValueLayer>(painters_));
      placed_.push_back({.layer = &layers_.back()->layer, .how = {}, .at = {}});
    }
  }

  void put(std::size_t index, const PictureRectangle& at) { placed_[index].at = {at, at}; }

  void resize(Size surface) {
    surface_ = surface;
    shown_ = std::make_unique<OffscreenTarget>(surface);
  }

  std::vector<std::byte> compose(Compositor& compositor, bool shows_everything = false) {
    compositor.compose(surface_, placed_, in_linear_light_, 0);
    compositor.show(shown_->framebuffer(), shows_everything);
    std::vector<std::byte> pixels(shown_->size_bytes());
    shown_->read_rgba(pixels);
    return pixels;
  }

  /// The value of a pixel by the formulas of gl/blend.hpp.
  [[nodiscard]] double reference_at(int x, int y) const {
    double below = 0;
    for (std::size_t i = 0; i < placed_.size(); ++i) {
      const PictureRectangle& at = placed_[i].at.visible;
      const bool is_inside = x >= at.x && x < at.x + at.width && y >= at.y && y < at.y + at.height;
      if (is_inside && !layers_[i]->values.empty()) {
        below = blended(placed_[i].how, layers_[i]->means(placed_[i].at.picture, x, y), below);
      }
    }
    return 255 * below;
  }

  static double blended(const LayerBlending& how, const Means& means, double below) {
    const double alpha = how.opacity * (how.alpha == Alpha::opaque ? 1 : means.value);
    const double source = how.opacity * (how.alpha == Alpha::straight ? means.multiplied : means.value);
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
    std::size_t at = 0;
    for (int y = 0; y < static_cast<int>(surface_.height); ++y) {
      for (int x = 0; x < static_cast<int>(surface_.width); ++x, at += 4) {
        ASSERT_NEAR(std::to_integer<int>(pixels.at(at)), reference_at(x, y), tolerance) << x << ", " << y;
        ASSERT_EQ(std::to_integer<int>(pixels.at(at + 3)), 255);
      }
    }
  }

  AttachedHeadless attached_{compositor_surface};
  Painters painters_;
  Size surface_ = compositor_surface;
  std::unique_ptr<OffscreenTarget> shown_ = std::make_unique<OffscreenTarget>(compositor_surface);
  std::vector<std::unique_ptr<ValueLayer>> layers_;
  std::vector<PlacedLayer> placed_;
  bool in_linear_light_ = false;
};

TEST_F(CompositorTest, IsBlackWithoutPictures) {
  add_layers(2);
  put(0, {0, 0, 60, 80});
  put(1, {60, 0, 60, 80});
  Compositor compositor;
  expect_reference(compose(compositor), exactly);
}

TEST_F(CompositorTest, PicturesSideBySideAreAsTheyAre) {
  add_layers(3);
  put(0, {0, 0, 40, 30});
  put(1, {50, 1, 40, 30});
  put(2, {11, 43, 40, 30});
  Compositor compositor;
  for (const int value : {10, 100, 200}) {
    for (auto& layer : layers_) {
      layer->show_quarters(value + static_cast<int>(&layer - layers_.data()));
      expect_reference(compose(compositor), exactly);
    }
  }
}

TEST_F(CompositorTest, PicturesAreScaledToTheirPlaces) {
  add_layers(3);
  put(0, {0, 0, 80, 60});
  put(1, {83, 5, 31, 23});
  put(2, {4, 61, 111, 19});
  Compositor compositor;
  for (auto& layer : layers_) {
    layer->show_quarters(20);
    expect_reference(compose(compositor), filtered);
  }
}

/// Neither is drawn on the canvas itself.
TEST_F(CompositorTest, PicturesThatOverlapAreAsTheyAre) {
  add_layers(2);
  put(0, {7, 3, 40, 30});
  put(1, {30, 20, 40, 30});
  layers_[0]->show_quarters(10);
  layers_[1]->show_quarters(100);
  Compositor compositor;
  expect_reference(compose(compositor), exactly);
  put(1, {31, 18, 40, 30});
  expect_reference(compose(compositor), exactly);
  put(1, {31, 18, 80, 60});
  expect_reference(compose(compositor), filtered);
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
  glClearTexImage(shown_->texture(), 0, GL_RGBA, GL_UNSIGNED_BYTE, other.data());
  layers_[1]->show(70);
  const auto pixels = compose(compositor);
  EXPECT_EQ(std::to_integer<int>(pixels[0]), 1) << "the left half is what another has drawn there";
  EXPECT_EQ(std::to_integer<int>(pixels[119 * 4]), 70);
  expect_reference(compose(compositor, true), exactly);
}

TEST_F(CompositorTest, AHiddenLayerIsNotDrawn) {
  add_layers(2);
  put(0, {0, 0, 120, 80});
  put(1, {10, 10, 40, 30});
  layers_[0]->show_quarters(50);
  layers_[1]->show_quarters(60);
  Compositor compositor;
  expect_reference(compose(compositor), filtered);
  put(1, {});
  expect_reference(compose(compositor), filtered);
}

TEST_F(CompositorTest, APictureThatIsLargerThanItsBoxIsCutOff) {
  add_layers(2);
  placed_[0].at = {.picture = {-10, -5, 120, 90}, .visible = {20, 11, 60, 50}};
  placed_[1].at = {.picture = {90, 60, 40, 30}, .visible = {95, 67, 25, 13}};  // the surface ends there
  layers_[0]->show_quarters(10);
  layers_[1]->show_quarters(60);
  Compositor compositor;
  expect_reference(compose(compositor), filtered);
  placed_[0].at = {.picture = {-5, 7, 40, 30}, .visible = {3, 12, 20, 21}};
  expect_reference(compose(compositor), exactly);
}

TEST_F(CompositorTest, APictureThatIsMovedInItsBoxIsCutAnew) {
  add_layers(1);
  layers_[0]->show_quarters(10);
  Compositor compositor;
  for (const auto& [x, y] : {std::pair(-5, -5), std::pair(-6, -5), std::pair(-6, 3)}) {
    placed_[0].at = {.picture = {x, y, 80, 60}, .visible = {10, 10, 50, 40}};
    expect_reference(compose(compositor), filtered);
  }
}

TEST_F(CompositorTest, APictureThatIsLargerThanTheSurfaceIsCutOff) {
  add_layers(2);
  placed_[0].at = {.picture = {-60, -50, 240, 180}, .visible = {-40, -30, 200, 140}};
  put(1, {-7, 60, 40, 30});
  layers_[0]->show_quarters(10);
  layers_[1]->show_quarters(60);
  Compositor compositor;
  expect_reference(compose(compositor), filtered);
}

/// OpenGL has no texture of that size.
TEST_F(CompositorTest, ADeeplyEnlargedPictureTakesNoMoreMemoryThanTheSurface) {
  add_layers(2);
  placed_[0].at = {.picture = {-30000, -22500, 60000, 45000}, .visible = {-29990, -22490, 59980, 44980}};
  put(1, {40, 30, 40, 30});
  layers_[0]->show_quarters(10);
  layers_[1]->show_quarters(60);
  Compositor compositor;
  expect_reference(compose(compositor), filtered);
  placed_[0].at.visible = placed_[0].at.picture;  // it is not drawn directly, since another one lies over it
  expect_reference(compose(compositor), filtered);
  put(1, {});
  expect_reference(compose(compositor), filtered);
}

TEST_F(CompositorTest, ALayerIsSeenFromItsFirstPictureOn) {
  add_layers(3);
  put(0, {0, 0, 80, 60});
  put(1, {30, 20, 40, 30});
  layers_[0]->show_quarters(10);
  Compositor compositor;
  expect_reference(compose(compositor), filtered);
  layers_[1]->show_quarters(100);
  expect_reference(compose(compositor), filtered);
  layers_[2]->show_quarters(200);
  expect_reference(compose(compositor), filtered);  // it has no place
  put(2, {80, 50, 40, 30});
  expect_reference(compose(compositor), filtered);
}

TEST_F(CompositorTest, ASurfaceOfAnotherSizeIsComposedAnew) {
  add_layers(2);
  layers_[0]->show_quarters(10);
  layers_[1]->show_quarters(100);
  Compositor compositor;
  for (const Size surface : {compositor_surface, Size{60, 50}, Size{200, 90}, Size{200, 120}, Size{120, 80}}) {
    SCOPED_TRACE(surface.width);
    resize(surface);
    put(0, {0, 0, 50, 40});
    put(1, {12, 9, 40, 30});
    expect_reference(compose(compositor), filtered);
    put(0, {0, 0, static_cast<int>(surface.width), static_cast<int>(surface.height)});
    put(1, {static_cast<int>(surface.width) - 43, 5, 40, 30});
    expect_reference(compose(compositor), filtered);
  }
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
        if (below(2) == 0) {
          const int left = below(40), top = below(40);
          const auto& visible = placed_[index].at.visible;
          placed_[index].at.picture = {x - left, y - top, visible.width + left + below(40),
                                       visible.height + top + below(40)};
        }
      }
      if (below(4) == 0) {
        placed_[index].how = {.blend = static_cast<Blend>(below(4)),
                              .alpha = static_cast<Alpha>(below(3)),
                              .opacity = below(2) == 0 ? 1 : 0.5};
      }
      layers_[static_cast<std::size_t>(below(4))]->show_quarters(below(256));
      const auto pixels = compose(compositor);
      Compositor anew;
      anew.compose(compositor_surface, placed_, false, 0);
      const OffscreenTarget other(compositor_surface);
      anew.show(other.framebuffer(), true);
      std::vector<std::byte> expected(other.size_bytes());
      other.read_rgba(expected);
      const auto are_alike = [](std::byte a, std::byte b) {  // the GPU rounds positions by the target's size
        return std::abs(std::to_integer<int>(a) - std::to_integer<int>(b)) <= 2;
      };
      const auto [changed, wanted] = std::ranges::mismatch(pixels, expected, are_alike);
      const auto at = (changed - pixels.begin()) / 4;
      ASSERT_TRUE(changed == pixels.end())
          << "step " << step << ": " << std::to_integer<int>(*changed) << ", not " << std::to_integer<int>(*wanted)
          << ", at " << at % compositor_surface.width << ", " << at / compositor_surface.width;
      expect_reference(pixels, 4 * 1.5 + filtered);  // each of four blends rounds
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
