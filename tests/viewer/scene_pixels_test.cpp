// Every layout and every blend of a scene's file, drawn, and each pixel compared with what docs/scenes.md says.
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "gl/gl.hpp"
#include "gl/offscreen_target.hpp"
#include "tests/viewer/attached_headless.hpp"
#include "tests/viewer/received_frames.hpp"
#include "tests/viewer/scene_reference.hpp"
#include "viewer/composition.hpp"
#include "viewer/scene_file.hpp"

namespace framewire {
namespace {

using test::ReferenceFrame;
using test::ReferenceLayer;
using test::ReferenceScene;
using test::ReferenceWall;

/// A scene, the sizes of its streams' frames, and of the surface.
struct DrawnScene {
  const char* what;
  ReferenceScene scene;
  std::vector<Size> frames;
  Size surface{160, 80};
  AlphaMode alpha_mode = AlphaMode::unspecified;  // as the streams say
};

/// A stream whose pixels are like no others: of the frame, or of another stream's. Colours are multiples of 16, so that
/// the mean of four neighbours, and the values half between two of them, are whole numbers: the GPU has to find them
/// exactly. Alphas are thirds, whose products with colours are never half-way between two numbers.
struct PixelStream {
  PixelStream(Painters& painters, Size size, std::uint32_t number, bool is_premultiplied)
      : frames(PixelFormat::rgba, size.width, size.height), layer(painters, false, statistics, Quality::fast) {
    picture.width = static_cast<int>(size.width);
    picture.height = static_cast<int>(size.height);
    for (std::uint32_t i = 0; i < size.width * size.height; ++i) {
      std::uint32_t random = (i * 2'654'435'761U) ^ (number * 0x9e37'79b9U + 0x7f4a'7c15U);
      random = (random ^ random >> 15U) * 0x2c1b'3c6dU;
      random = (random ^ random >> 12U) * 0x297a'2d39U;
      random ^= random >> 15U;
      const std::uint32_t alpha = (random >> 12U) % 4 * 85;
      for (const std::uint32_t colour : {random % 16 * 16, random / 16 % 16 * 16, random / 256 % 16 * 16}) {
        picture.values.push_back(static_cast<std::uint8_t>(is_premultiplied ? colour * alpha / 255 : colour));
      }
      picture.values.push_back(static_cast<std::uint8_t>(alpha));
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

  ReferenceFrame picture;
  FrameMaker frames;
  Statistics statistics;
  Layer layer;
};

class ScenePixels : public testing::Test {
 protected:
  void SetUp() override { facts_.status.state = SubscriberState::connected; }

  /// Draws the scene from its file's text, and compares.
  void expect_as_documented(const DrawnScene& drawn) {
    SCOPED_TRACE(drawn.what);
    SCOPED_TRACE(test::text_of(drawn.scene));
    std::vector<ReferenceFrame> pictures;
    std::vector<std::unique_ptr<PixelStream>> streams;
    std::vector<ComposedStream> composed;
    ASSERT_EQ(drawn.frames.size(), drawn.scene.layers.size());
    for (std::size_t i = 0; i < drawn.frames.size(); ++i) {
      streams.push_back(std::make_unique<PixelStream>(
          painters_, drawn.frames[i], static_cast<std::uint32_t>(i),
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
    expect_pixels(seen, test::picture_of(as_meant(drawn), pictures, width, height, tolerance()), width);
  }

  /// With what the streams say in place of the usual alpha.
  static ReferenceScene as_meant(const DrawnScene& drawn) {
    ReferenceScene meant = drawn.scene;
    for (std::size_t i = 1; i < meant.layers.size() && drawn.alpha_mode == AlphaMode::premultiplied; ++i) {
      ReferenceLayer& layer = meant.layers[i];
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

  /// llvmpipe weights these texels exactly. An H200 is off by up to 1.75 where it scales.
  static test::ReferenceTolerance tolerance() { return {.same_size = 0, .scaled = is_software_renderer() ? 0.0 : 2.6}; }

  AttachedHeadless attached_{{16, 16}};
  Painters painters_;
  StreamFacts facts_{.peer_text = "box", .status = {}, .lost_message = {}};
};

const ReferenceLayer plain_layer{};
const ReferenceLayer hidden_layer{.hidden = true};

TEST_F(ScenePixels, GridsAndColumns) {
  const std::vector<DrawnScene> scenes{
      {"a grid at 1:1, doubled, halved and quartered",
       {.layout = "grid", .layers = {plain_layer, plain_layer, plain_layer, plain_layer}},
       {{80, 40}, {40, 20}, {160, 80}, {320, 160}}},
      {"the last row is in the middle",
       {.layout = "grid", .layers = {plain_layer, plain_layer, plain_layer}},
       {{80, 40}, {80, 40}, {80, 40}}},
      {"a wide grid has more columns",
       {.layout = "grid", .layers = {plain_layer, plain_layer, plain_layer, plain_layer}},
       {{60, 34}, {60, 40}, {60, 34}, {60, 34}},
       {240, 40}},
      {"a grid is the default", {.layers = {plain_layer, plain_layer}}, {{80, 44}, {80, 44}}},
      {"a high grid has fewer",
       {.layout = "grid", .layers = {plain_layer, plain_layer}},
       {{80, 44}, {80, 60}},
       {80, 120}},
      {"a hidden layer leaves no room",
       {.layout = "grid", .layers = {plain_layer, hidden_layer, plain_layer, hidden_layer}},
       {{80, 44}, {9, 9}, {80, 44}, {9, 9}}},
      {"columns with room above, beside and around",
       {.layout = "side", .layers = {plain_layer, plain_layer, plain_layer}},
       {{40, 20}, {20, 80}, {20, 40}},
       {120, 80}},
      {"columns whose edges are rounded",
       {.layout = "side", .layers = {plain_layer, plain_layer, plain_layer}},
       {{33, 30}, {34, 30}, {33, 30}},
       {100, 30}},
      {"a hidden column leaves no room",
       {.layout = "side", .layers = {plain_layer, hidden_layer, plain_layer}},
       {{80, 80}, {80, 80}, {40, 40}}},
  };
  for (const DrawnScene& scene : scenes) {
    ASSERT_NO_FATAL_FAILURE(expect_as_documented(scene));
  }
}

TEST_F(ScenePixels, OneForEachEye) {
  const ReferenceLayer cropped{.crop = {{8, 4, 80, 40}}};
  const std::vector<DrawnScene> scenes{
      {"both squeezed to half their width",
       {.layout = "stereo-side", .layers = {plain_layer, plain_layer}},
       {{160, 80}, {160, 80}}},
      {"narrow pictures are in the middle",
       {.layout = "stereo-side", .layers = {plain_layer, plain_layer}},
       {{80, 80}, {160, 40}}},
      {"both squeezed to half their height",
       {.layout = "stereo-top", .layers = {plain_layer, plain_layer}},
       {{160, 80}, {160, 80}}},
      {"flat pictures are in the middle",
       {.layout = "stereo-top", .layers = {plain_layer, plain_layer}},
       {{80, 80}, {160, 40}}},
      {"the place of a hidden one is empty",
       {.layout = "stereo-side", .layers = {hidden_layer, plain_layer}},
       {{160, 80}, {160, 80}}},
      {"a third has no place",
       {.layout = "stereo-top", .layers = {plain_layer, hidden_layer, plain_layer}},
       {{160, 80}, {160, 80}, {160, 80}}},
      {"a part of a picture", {.layout = "stereo-side", .layers = {cropped, plain_layer}}, {{100, 60}, {160, 80}}},
      {"a full box", {.layout = "stereo-side", .layers = {{.fit = "cover"}, {.fit = "fill"}}}, {{80, 80}, {80, 20}}},
  };
  for (const DrawnScene& scene : scenes) {
    ASSERT_NO_FATAL_FAILURE(expect_as_documented(scene));
  }
}

TEST_F(ScenePixels, SmallPicturesOverALargeOne) {
  const std::vector<DrawnScene> scenes{
      {"one", {.layout = "pip", .layers = {plain_layer, plain_layer}}, {{160, 80}, {160, 80}}},
      {"a column of three, from below",
       {.layout = "pip", .layers = {plain_layer, plain_layer, plain_layer, plain_layer}},
       {{80, 40}, {40, 20}, {80, 40}, {20, 10}}},
      {"a second column",
       {.layout = "pip", .layers = {plain_layer, plain_layer, plain_layer, plain_layer, plain_layer}},
       {{160, 80}, {40, 20}, {40, 20}, {40, 20}, {40, 20}}},
      {"the large one is hidden", {.layout = "pip", .layers = {hidden_layer, plain_layer}}, {{160, 80}, {40, 20}}},
      {"a small one is hidden",
       {.layout = "pip", .layers = {plain_layer, hidden_layer, plain_layer}},
       {{160, 80}, {40, 20}, {40, 20}}},
      {"on a canvas of another shape",
       {.layout = "pip", .canvas = {{80, 80}}, .layers = {plain_layer, plain_layer}},
       {{80, 80}, {20, 20}}},
      {"edges are rounded, as in the example of the document",  // 22.5 pixels from the edges
       {.layout = "pip", .layers = {plain_layer, plain_layer}},
       {{1600, 900}, {400, 225}},
       {1600, 900}},
  };
  for (const DrawnScene& scene : scenes) {
    ASSERT_NO_FATAL_FAILURE(expect_as_documented(scene));
  }
}

TEST_F(ScenePixels, EachAtItsOwnPlace) {
  const auto at = [](double x, double y, double width, double height, std::string fit = {}) {
    return ReferenceLayer{.box = {{x, y, width, height}}, .fit = std::move(fit)};
  };
  ReferenceLayer part = at(20, 10, 60, 40);
  part.crop = {{7, 5, 30, 20}};
  ReferenceLayer beyond = at(0, 0, 40, 20, "fill");
  beyond.crop = {{60, 30, 30, 30}};  // 20x10 of it are of the picture
  ReferenceLayer half = at(50, 30, 40, 20);
  half.opacity = 0.5;
  const std::vector<DrawnScene> scenes{
      {"boxes, and one of the whole canvas",
       {.layout = "free", .layers = {plain_layer, at(10, 20, 40, 20), at(30, 30, 80, 40)}},
       {{160, 80}, {40, 20}, {40, 20}}},
      {"without its word", {.layers = {at(3, 5, 40, 20)}}, {{40, 20}}},
      {"all of a picture is seen", {.layers = {at(0, 0, 80, 80), at(80, 0, 80, 80)}}, {{40, 20}, {20, 40}}},
      {"the box is full", {.layers = {at(0, 0, 80, 80, "cover"), at(80, 10, 60, 40, "cover")}}, {{80, 40}, {30, 40}}},
      {"a picture is distorted",
       {.layers = {at(0, 0, 80, 20, "fill"), at(80, 10, 20, 40, "fill")}},
       {{40, 40}, {40, 40}}},
      {"parts of pictures", {.layers = {part, at(80, 0, 20, 20)}}, {{50, 30}, {20, 20}}},
      {"parts that lie outside", {.layers = {beyond}}, {{80, 40}}},
      {"boxes that lie partly outside",
       {.layers = {at(-30, -10, 80, 40), at(130, 60, 80, 40), at(150, -30, 40, 40)}},
       {{80, 40}, {160, 80}, {20, 20}}},
      {"a larger canvas",
       {.canvas = {{320, 160}}, .layers = {at(40, 20, 160, 80), at(160, 60, 80, 80)}},
       {{160, 80}, {40, 40}}},
      {"a canvas of another shape is in the middle",
       {.canvas = {{40, 40}}, .layers = {plain_layer, at(10, 10, 20, 10)}},
       {{80, 80}, {40, 20}}},
      {"as is one that is wider than the surface",
       {.canvas = {{80, 40}}, .layers = {plain_layer, at(10, 10, 40, 20)}},
       {{80, 40}, {40, 20}},
       {80, 120}},
      {"half of one is seen", {.layers = {at(0, 0, 80, 80), half}}, {{80, 80}, {40, 20}}},
      {"one that is not seen", {.layers = {at(0, 0, 80, 80), {.opacity = 0}}}, {{80, 80}, {160, 80}}},
      {"one that is hidden", {.layers = {at(0, 0, 80, 80), hidden_layer}}, {{80, 80}, {160, 80}}},
  };
  for (const DrawnScene& scene : scenes) {
    ASSERT_NO_FATAL_FAILURE(expect_as_documented(scene));
  }
}

/// All screens have the same scene, but for their numbers.
TEST_F(ScenePixels, AWallWithBezels) {
  const ReferenceLayer across{.box = {{100, 20, 120, 60}}};
  const std::vector<DrawnScene> walls{
      {"one picture on two screens",
       {.layout = "overlay", .wall = {{.screens = {2, 1}, .bezel = {20, 0}}}, .layers = {plain_layer}},
       {{220, 80}},
       {100, 80}},
      {"on six",
       {.layout = "overlay", .wall = {{.screens = {3, 2}, .bezel = {10, 6}}}, .layers = {plain_layer}},
       {{160, 86}},
       {100, 40}},
      {"side by side, behind a bezel",
       {.layout = "side",
        .wall = {{.screens = {2, 1}, .bezel = {10, 0}}},
        .layers = {plain_layer, plain_layer, plain_layer}},
       {{70, 60}, {70, 60}, {35, 30}},
       {100, 60}},
      {"a box across two bezels",
       {.layout = "free", .wall = {{.screens = {2, 2}, .bezel = {12, 8}}}, .layers = {across, plain_layer}},
       {{120, 60}, {106, 44}},
       {150, 40}},
      {"a canvas of another shape",
       {.layout = "pip",
        .canvas = {{160, 80}},
        .wall = {{.screens = {2, 2}, .bezel = {20, 20}}},
        .layers = {plain_layer, plain_layer}},
       {{160, 80}, {80, 40}},
       {150, 70}},
  };
  for (DrawnScene scene : walls) {
    ReferenceWall& wall = *scene.scene.wall;
    for (int number = 0; number < wall.screens[0] * wall.screens[1]; ++number) {
      wall.screen = {number % wall.screens[0], number / wall.screens[0]};
      ASSERT_NO_FATAL_FAILURE(expect_as_documented(scene));
    }
  }
}

/// Two layers over a third, in one place and in two.
TEST_F(ScenePixels, EveryBlendInBothLightsWithEveryAlpha) {
  for (const std::string light : {"coded", "linear"}) {
    for (const std::string blend : {"", "over", "add", "multiply", "screen"}) {
      for (const std::string alpha : {"", "opaque", "straight", "premultiplied"}) {
        for (const double opacity : {1.0, 0.25, 0.0}) {
          const ReferenceLayer upper{.blend = blend, .alpha = alpha, .opacity = opacity};
          ReferenceLayer beside = upper;
          beside.box = {{20, 10, 40, 20}};
          ASSERT_NO_FATAL_FAILURE(
              expect_as_documented({"overlay",
                                    {.layout = "overlay", .light = light, .layers = {plain_layer, upper}},
                                    {{80, 40}, {80, 40}},
                                    {80, 40}}));
          ASSERT_NO_FATAL_FAILURE(expect_as_documented(
              {"free",
               {.layout = "free", .light = light, .layers = {plain_layer, beside, plain_layer, upper}},
               {{80, 40}, {40, 20}, {10, 40}, {80, 30}},
               {80, 40}}));
        }
      }
    }
  }
}

/// Of a premultiplied stream nothing is multiplied twice, unless the user says so.
TEST_F(ScenePixels, StreamsThatSayWhatTheirAlphaMeans) {
  for (const AlphaMode mode : {AlphaMode::straight, AlphaMode::premultiplied}) {
    for (const std::string layout : {"overlay", "grid"}) {
      const Size surface{layout == "grid" ? 160U : 80U, 40};  // nothing is scaled
      for (const std::string blend : {"", "add"}) {
        for (const std::string alpha : {"", "opaque", "straight", "premultiplied"}) {
          ASSERT_NO_FATAL_FAILURE(
              expect_as_documented({"with an alpha mode",
                                    {.layout = layout, .layers = {plain_layer, {.blend = blend, .alpha = alpha}}},
                                    {{80, 40}, {80, 40}},
                                    surface,
                                    mode}));
        }
      }
    }
  }
}

/// Straight colours are multiplied before they are scaled.
TEST_F(ScenePixels, ScaledPicturesWithAlpha) {
  for (const std::string blend : {"over", "add", "multiply", "screen"}) {
    for (const std::string alpha : {"straight", "premultiplied"}) {
      ASSERT_NO_FATAL_FAILURE(
          expect_as_documented({"scaled",
                                {.layout = "overlay", .layers = {plain_layer, {.blend = blend, .alpha = alpha}}},
                                {{160, 80}, {80, 40}},
                                {80, 40}}));
    }
  }
}

}  // namespace
}  // namespace framewire
