#include "tests/viewer/documented_scenes.hpp"

#include <utility>

namespace framewire {

namespace {

using test::ReferenceLayer;
using test::ReferenceWall;

const ReferenceLayer plain_layer{};
const ReferenceLayer hidden_layer{.hidden = true};

}  // namespace

std::vector<DrawnScene> grids_and_columns() {
  return {
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
}

std::vector<DrawnScene> one_for_each_eye() {
  const ReferenceLayer cropped{.crop = {{8, 4, 80, 40}}};
  return {
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
}

std::vector<DrawnScene> small_pictures_over_a_large_one() {
  return {
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
}

std::vector<DrawnScene> each_at_its_own_place() {
  const auto at = [](double x, double y, double width, double height, std::string fit = {}) {
    return ReferenceLayer{.box = {{x, y, width, height}}, .fit = std::move(fit)};
  };
  ReferenceLayer part = at(20, 10, 60, 40);
  part.crop = {{7, 5, 30, 20}};
  ReferenceLayer beyond = at(0, 0, 40, 20, "fill");
  beyond.crop = {{60, 30, 30, 30}};  // 20x10 of it are of the picture
  ReferenceLayer half = at(50, 30, 40, 20);
  half.opacity = 0.5;
  return {
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
}

std::vector<DrawnScene> walls_with_bezels() {
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
  std::vector<DrawnScene> screens;
  for (DrawnScene scene : walls) {
    ReferenceWall& wall = *scene.scene.wall;
    for (int number = 0; number < wall.screens[0] * wall.screens[1]; ++number) {
      wall.screen = {number % wall.screens[0], number / wall.screens[0]};
      screens.push_back(scene);
    }
  }
  return screens;
}

std::vector<DrawnScene> every_blend() {
  std::vector<DrawnScene> scenes;
  for (const std::string light : {"coded", "linear"}) {
    for (const std::string blend : {"", "over", "add", "multiply", "screen"}) {
      for (const std::string alpha : {"", "opaque", "straight", "premultiplied"}) {
        for (const double opacity : {1.0, 0.25, 0.0}) {
          const ReferenceLayer upper{.blend = blend, .alpha = alpha, .opacity = opacity};
          ReferenceLayer beside = upper;
          beside.box = {{20, 10, 40, 20}};
          scenes.push_back({"overlay",
                            {.layout = "overlay", .light = light, .layers = {plain_layer, upper}},
                            {{80, 40}, {80, 40}},
                            {80, 40}});
          scenes.push_back({"free",
                            {.layout = "free", .light = light, .layers = {plain_layer, beside, plain_layer, upper}},
                            {{80, 40}, {40, 20}, {10, 40}, {80, 30}},
                            {80, 40}});
        }
      }
    }
  }
  return scenes;
}

std::vector<DrawnScene> streams_with_an_alpha_mode() {
  std::vector<DrawnScene> scenes;
  for (const AlphaMode mode : {AlphaMode::straight, AlphaMode::premultiplied}) {
    for (const std::string layout : {"overlay", "grid"}) {
      const Size surface{layout == "grid" ? 160U : 80U, 40};  // nothing is scaled
      for (const std::string blend : {"", "add"}) {
        for (const std::string alpha : {"", "opaque", "straight", "premultiplied"}) {
          scenes.push_back({"with an alpha mode",
                            {.layout = layout, .layers = {plain_layer, {.blend = blend, .alpha = alpha}}},
                            {{80, 40}, {80, 40}},
                            surface,
                            mode});
        }
      }
    }
  }
  return scenes;
}

std::vector<DrawnScene> scaled_pictures_with_alpha() {
  std::vector<DrawnScene> scenes;
  for (const std::string blend : {"over", "add", "multiply", "screen"}) {
    for (const std::string alpha : {"straight", "premultiplied"}) {
      scenes.push_back({"scaled",
                        {.layout = "overlay", .layers = {plain_layer, {.blend = blend, .alpha = alpha}}},
                        {{160, 80}, {80, 40}},
                        {80, 40}});
    }
  }
  return scenes;
}

}  // namespace framewire
