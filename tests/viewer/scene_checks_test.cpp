#include "viewer/scene_checks.hpp"

#include <gtest/gtest.h>

namespace framewire {
namespace {

Scene layers_of(Layout layout, std::size_t count) {
  Scene scene{.layout = layout};
  scene.layers.resize(count);
  return scene;
}

TEST(SceneChecks, FramesOfOneRequestAreNotPaced) {
  ViewerOptions paced, synchronised;
  paced.is_paced = true;
  synchronised.is_synchronised = true;
  EXPECT_NE(useless_option(layers_of(Layout::depth, 2), paced).find("--paced means nothing"), std::string::npos);
  EXPECT_NE(useless_option(layers_of(Layout::depth, 2), synchronised).find("--sync means nothing"), std::string::npos);
  EXPECT_EQ(useless_option(layers_of(Layout::depth, 2), {}), "");
  EXPECT_EQ(useless_option(layers_of(Layout::grid, 2), paced), "");
}

TEST(SceneChecks, AStereoLayoutIsForTwoStreams) {
  for (const Layout layout : {Layout::stereo_side, Layout::stereo_top}) {
    EXPECT_NE(stereo_mismatch(layers_of(layout, 1)).find("there is one"), std::string::npos);
    EXPECT_EQ(stereo_mismatch(layers_of(layout, 2)), "");
    Scene three = layers_of(layout, 3);
    EXPECT_NE(stereo_mismatch(three).find(std::string(name(layout)) + " shows two streams"), std::string::npos);
    EXPECT_NE(stereo_mismatch(three).find("there are 3"), std::string::npos);
    three.layers[2].is_hidden = true;
    EXPECT_EQ(stereo_mismatch(three), "") << "the user knows";
  }
  EXPECT_EQ(stereo_mismatch(layers_of(Layout::side, 3)), "");
}

}  // namespace
}  // namespace framewire
