#include "viewer/offered_streams.hpp"

#include <gtest/gtest.h>

namespace framewire {
namespace {

using Offers = std::vector<std::vector<std::string>>;

SceneOfSources scene_of(const std::vector<std::string>& hosts, Layout layout = Layout::grid) {
  SceneOfSources scene;
  scene.scene.layout = layout;
  for (const std::string& host : hosts) {
    scene.scene.layers.push_back({.source = host});
    scene.sources.push_back(parse_source(host, {}, "HOST"));
  }
  return scene;
}

std::vector<std::string> names(const SceneOfSources& scene) {
  std::vector<std::string> texts;
  for (std::size_t i = 0; i < scene.sources.size(); ++i) {
    EXPECT_EQ(scene.scene.layers.size(), scene.sources.size());
    texts.push_back(scene.sources[i].peer_text);
  }
  return texts;
}

using Names = std::vector<std::string>;

TEST(OfferedStreams, BecomeLayersAfterTheFirst) {
  const auto scene = with_offered_streams(scene_of({"box", "other/one"}), Offers{{"a", "b", "c"}, {"one", "two"}}, {});
  ASSERT_TRUE(scene);
  EXPECT_EQ(names(*scene), (Names{"box:5290", "other:5290/one", "box:5290/b", "box:5290/c"}));
  EXPECT_EQ(scene->sources[2].subscriber.stream, "b");
  EXPECT_TRUE(scene->sources[2].is_offered);
  EXPECT_FALSE(scene->sources[0].is_offered);
}

TEST(OfferedStreams, NothingChangesWithoutOthers) {
  EXPECT_FALSE(with_offered_streams(scene_of({"box"}), Offers{{"a"}}, {}));
  EXPECT_FALSE(with_offered_streams(scene_of({"box"}), Offers{{}}, {}));
  EXPECT_FALSE(with_offered_streams(scene_of({"box/a"}), Offers{{"a", "b"}}, {}));
}

TEST(OfferedStreams, ComeAndGoWithTheOffer) {
  const auto first = with_offered_streams(scene_of({"box"}), Offers{{"a", "b", "c"}}, {});
  const auto fewer = with_offered_streams(*first, Offers{{"a", "c"}, {}, {}}, {});
  ASSERT_TRUE(fewer);
  EXPECT_EQ(names(*fewer), (Names{"box:5290", "box:5290/c"}));
  const auto again = with_offered_streams(*fewer, Offers{{"a", "b", "c"}, {}}, {});
  ASSERT_TRUE(again);
  EXPECT_EQ(names(*again), (Names{"box:5290", "box:5290/c", "box:5290/b"}));
  EXPECT_FALSE(with_offered_streams(*again, Offers{{}, {}, {}}, {})) << "a sender that is gone offers nothing";
}

TEST(OfferedStreams, WhatTheUserNamedStays) {
  const auto scene = with_offered_streams(scene_of({"box", "box/b"}), Offers{{"a"}, {"a"}}, {});
  EXPECT_FALSE(scene);
}

TEST(OfferedStreams, ThoseOfASenderWithALongerNameAreNotMistaken) {
  const auto first = with_offered_streams(scene_of({"box", "box:52901"}), Offers{{"a", "b"}, {"a", "b"}}, {});
  const auto scene = with_offered_streams(*first, Offers{{"a"}, {"a", "b"}, {}, {}}, {});
  ASSERT_TRUE(scene);
  EXPECT_EQ(names(*scene), (Names{"box:5290", "box:52901", "box:52901/b"}));
}

TEST(OfferedStreams, APeerMaySayAnything) {
  const auto scene = with_offered_streams(scene_of({"box"}), Offers{{"a", "", "a", "b", "b", "x/y", "\x1b[2J"}}, {});
  ASSERT_TRUE(scene);
  EXPECT_EQ(names(*scene), (Names{"box:5290", "box:5290/b", "box:5290/x/y", "box:5290/\x1b[2J"}));
  EXPECT_FALSE(with_offered_streams(*scene, Offers{{"a", "b", "x/y", "\x1b[2J"}, {"a", "q"}, {}, {}}, {}))
      << "an offered stream stands for itself";

  std::vector<std::string> many;
  for (int i = 0; i < 1000; ++i) {
    many.push_back(std::to_string(i));
  }
  EXPECT_EQ(with_offered_streams(scene_of({"box", "c/d"}), Offers{many, {}}, {})->sources.size(), max_scene_layers);
}

TEST(OfferedStreams, LieUnderWhatIsLocal) {
  SceneOfSources scene = scene_of({"box"});
  scene.scene.layers.push_back({.local = LocalSource{.source = "logo.png"}});
  scene.sources.push_back({.subscriber = {}, .peer_text = "logo.png", .local = LocalSource{.source = "logo.png"}});
  const auto now = with_offered_streams(scene, Offers{{"a", "b"}, {}}, {});
  ASSERT_TRUE(now);
  EXPECT_EQ(names(*now), (Names{"box:5290", "box:5290/b", "logo.png"}));
}

TEST(OfferedStreams, AreBlendedAsTheCommandLineSays) {
  const auto added = with_offered_streams(scene_of({"box"}, Layout::overlay), Offers{{"a", "b"}},
                                          {.blend = Blend::add, .alpha = Alpha::premultiplied});
  EXPECT_EQ(added->scene.layers[1].blend, Blend::add);
  EXPECT_EQ(added->scene.layers[1].alpha, Alpha::premultiplied);
  EXPECT_EQ(added->scene.layers[0].blend, Blend::over);
  const auto usual = with_offered_streams(scene_of({"box"}, Layout::overlay), Offers{{"a", "b"}}, {});
  EXPECT_EQ(usual->scene.layers[1].alpha, Alpha::straight);
  const auto grid = with_offered_streams(scene_of({"box"}), Offers{{"a", "b"}}, {});
  EXPECT_EQ(grid->scene.layers[1].alpha, Alpha::opaque);
}

}  // namespace
}  // namespace framewire
