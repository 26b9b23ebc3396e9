#include "viewer/keys.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>

namespace framewire {
namespace {

TEST(Keys, HaveALetterAndAnEventEach) {
  for (const KeyBinding& key : key_bindings) {
    EXPECT_EQ(std::ranges::count(key_bindings, key.letter, &KeyBinding::letter), 1) << key.names;
    EXPECT_EQ(std::ranges::count(key_bindings, key.event, &KeyBinding::event), 1) << key.names;
    EXPECT_EQ(std::toupper(key.letter), key.names.front()) << "GLFW names keys by small letters";
    SurfaceEvents events;
    press_key(key.letter, events);
    EXPECT_TRUE(events.*key.event) << key.names;
  }
}

TEST(Keys, SetNoEventOfAnother) {
  SurfaceEvents events;
  press_key('h', events);
  EXPECT_TRUE(events.panel_toggle_requested);
  EXPECT_FALSE(events.quit_requested || events.screenshot_requested || events.recording_toggle_requested ||
               events.fullscreen_toggle_requested);
  for (const char letter : {'\0', 'x', 'Q'}) {
    SurfaceEvents none;
    press_key(letter, none);
    EXPECT_FALSE(std::ranges::any_of(key_bindings, [&none](const KeyBinding& key) { return none.*key.event; }))
        << letter;
  }
}

TEST(Keys, ArrangeThePictureAndNothingElse) {
  for (const SceneKeyBinding& key : scene_key_bindings) {
    EXPECT_EQ(std::ranges::count(scene_key_bindings, key.key, &SceneKeyBinding::key), 1) << key.names;
    EXPECT_EQ(std::ranges::count(key_bindings, key.letter, &KeyBinding::letter), 0) << key.names;
    if (key.letter == '\0') {
      EXPECT_GT(key.names.size(), 1U) << "a key without a letter has a name";
    } else {
      EXPECT_EQ(std::ranges::count(scene_key_bindings, key.letter, &SceneKeyBinding::letter), 1) << key.names;
      EXPECT_EQ(std::toupper(key.letter), key.names.front());
      EXPECT_EQ(scene_key_of(key.letter), key.key);
    }
  }
  for (const char letter : {'\0', 'q', 'x', 'M'}) {
    EXPECT_EQ(scene_key_of(letter), std::nullopt);
  }
}

TEST(Keys, StandInHelpInColumns) {
  EXPECT_TRUE(key_help().starts_with("  Q, Esc      quit\n  F           turn fullscreen on or off\n")) << key_help();
}

}  // namespace
}  // namespace framewire
