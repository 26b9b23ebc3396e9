// Every layout and every blend of a scene's file.
#pragma once

#include <vector>

#include "base/text.hpp"
#include "frame/frame_layout.hpp"
#include "tests/viewer/scene_reference.hpp"

namespace framewire {

/// A scene, the sizes of its streams' frames, and of the surface.
struct DrawnScene {
  const char* what;
  test::ReferenceScene scene;
  std::vector<Size> frames;
  Size surface{160, 80};
  AlphaMode alpha_mode = AlphaMode::unspecified;  // as the streams say
};

std::vector<DrawnScene> grids_and_columns();
std::vector<DrawnScene> one_for_each_eye();
std::vector<DrawnScene> small_pictures_over_a_large_one();
std::vector<DrawnScene> each_at_its_own_place();
/// All screens of a wall have the same scene, but for their numbers.
std::vector<DrawnScene> walls_with_bezels();
/// Two layers over a third, in one place and in two.
std::vector<DrawnScene> every_blend();
std::vector<DrawnScene> streams_with_an_alpha_mode();
std::vector<DrawnScene> scaled_pictures_with_alpha();

}  // namespace framewire
