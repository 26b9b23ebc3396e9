// The same scenes in good quality, which libplacebo draws. Layers that are opaque are drawn well; those with an alpha
// are drawn fast, since their colours are to be multiplied before they are scaled. The reference is the same.
#include <string>
#include <vector>

#include "tests/viewer/drawn_scene.hpp"

namespace framewire {
namespace {

class ScenePixelsGood : public DrawnSceneTest {
 protected:
  /// Pictures that are not scaled are drawn exactly. Those that are have a better filter than the reference: their
  /// pixels are compared where every good filter gives nearly the same, in soft waves.
  void expect_all_as_documented(const std::vector<DrawnScene>& scenes) {
    for (const DrawnScene& scene : scenes) {
      ASSERT_NO_FATAL_FAILURE(expect_as_documented(
          scene, {.quality = Quality::good, .content = Content::random, .tolerance = {0, anything}}));
      ASSERT_NO_FATAL_FAILURE(
          expect_as_documented(scene, {.quality = Quality::good, .content = Content::waves, .tolerance = soft}));
    }
  }

  static constexpr double anything = 255;
  /// Of 255: what the filters differ by in such waves (2.5 at most with llvmpipe).
  static constexpr test::ReferenceTolerance soft{.same_size = 0, .scaled = 3};
};

TEST_F(ScenePixelsGood, GridsAndColumns) {
  expect_all_as_documented(grids_and_columns());
  EXPECT_EQ(drawn_qualities_.at(0), Quality::good);
}

TEST_F(ScenePixelsGood, OneForEachEye) {
  expect_all_as_documented(one_for_each_eye());
}

TEST_F(ScenePixelsGood, SmallPicturesOverALargeOne) {
  expect_all_as_documented(small_pictures_over_a_large_one());
}

TEST_F(ScenePixelsGood, EachAtItsOwnPlace) {
  expect_all_as_documented(each_at_its_own_place());
}

TEST_F(ScenePixelsGood, AWallWithBezels) {
  expect_all_as_documented(walls_with_bezels());
}

TEST_F(ScenePixelsGood, EveryBlendInBothLightsWithEveryAlpha) {
  expect_all_as_documented(every_blend());
}

TEST_F(ScenePixelsGood, StreamsThatSayWhatTheirAlphaMeans) {
  expect_all_as_documented(streams_with_an_alpha_mode());
}

TEST_F(ScenePixelsGood, ScaledPicturesWithAlpha) {
  expect_all_as_documented(scaled_pictures_with_alpha());
  EXPECT_EQ(drawn_qualities_, (std::vector{Quality::good, Quality::fast}));
}

/// The colours under an alpha that is not to count are scaled as if it were not there.
TEST_F(ScenePixelsGood, AnAlphaThatDoesNotCountChangesNothing) {
  for (const std::string layout : {"grid", "pip", "overlay"}) {
    for (const Size surface : {Size{160, 80}, Size{60, 30}, Size{400, 200}}) {
      const DrawnScene scene{"opaque",
                             {.layout = layout, .layers = {{.alpha = "opaque"}, {.alpha = "opaque"}}},
                             {{160, 80}, {40, 20}},
                             surface};
      ASSERT_NO_FATAL_FAILURE(expect_as_documented(
          scene, {.quality = Quality::good, .content = Content::waves_in_noise, .tolerance = soft}));
    }
  }
  EXPECT_EQ(drawn_qualities_, (std::vector{Quality::good, Quality::good}));
}

}  // namespace
}  // namespace framewire
