// Every layout and every blend of a scene's file, drawn in fast quality, and each pixel compared with what
// docs/scenes.md says.
#include "gl/gl.hpp"
#include "tests/viewer/drawn_scene.hpp"

namespace framewire {
namespace {

class ScenePixels : public DrawnSceneTest {
 protected:
  void expect_all_as_documented(const std::vector<DrawnScene>& scenes) {
    for (const DrawnScene& scene : scenes) {
      ASSERT_NO_FATAL_FAILURE(expect_as_documented(scene, {.tolerance = tolerance()}));
    }
  }

  /// llvmpipe weights these texels exactly. An H200 is off by up to 1.75 where it scales.
  static test::ReferenceTolerance tolerance() { return {.same_size = 0, .scaled = is_software_renderer() ? 0.0 : 2.6}; }
};

TEST_F(ScenePixels, GridsAndColumns) {
  expect_all_as_documented(grids_and_columns());
}

TEST_F(ScenePixels, OneForEachEye) {
  expect_all_as_documented(one_for_each_eye());
}

TEST_F(ScenePixels, SmallPicturesOverALargeOne) {
  expect_all_as_documented(small_pictures_over_a_large_one());
}

TEST_F(ScenePixels, EachAtItsOwnPlace) {
  expect_all_as_documented(each_at_its_own_place());
}

TEST_F(ScenePixels, AWallWithBezels) {
  expect_all_as_documented(walls_with_bezels());
}

TEST_F(ScenePixels, EveryBlendInBothLightsWithEveryAlpha) {
  expect_all_as_documented(every_blend());
}

TEST_F(ScenePixels, StreamsThatSayWhatTheirAlphaMeans) {
  expect_all_as_documented(streams_with_an_alpha_mode());
}

TEST_F(ScenePixels, ScaledPicturesWithAlpha) {
  expect_all_as_documented(scaled_pictures_with_alpha());
}

}  // namespace
}  // namespace framewire
