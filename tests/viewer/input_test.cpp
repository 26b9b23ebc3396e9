#include "viewer/input.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace framewire {
namespace {

TEST(SceneInputs, KeepTheLastOfMovesThatFollowOneAnother) {
  SceneInputs events;
  EXPECT_TRUE(events.empty());
  events.add({.x = 1});
  events.add({.x = 2});
  events.add({.kind = SceneInput::Kind::press, .x = 2});
  events.add({.x = 3});
  events.add({.x = 4});
  std::vector<double> x;
  for (const SceneInput& event : events) {
    x.push_back(event.x);
  }
  EXPECT_EQ(x, (std::vector<double>{2, 2, 4}));
}

TEST(SceneInputs, AreBounded) {
  SceneInputs events;
  for (int i = 0; i < 1000; ++i) {
    events.add({.kind = SceneInput::Kind::key});
  }
  EXPECT_EQ(events.end() - events.begin(), 64);
}

}  // namespace
}  // namespace framewire
