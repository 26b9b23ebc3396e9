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
  EXPECT_FALSE(events.quit_requested || events.screenshot_requested || events.fullscreen_toggle_requested);
  for (const char letter : {'\0', 'x', 'Q'}) {
    SurfaceEvents none;
    press_key(letter, none);
    EXPECT_FALSE(std::ranges::any_of(key_bindings, [&none](const KeyBinding& key) { return none.*key.event; }))
        << letter;
  }
}

TEST(Keys, StandInHelpInColumns) {
  EXPECT_TRUE(key_help().starts_with("  Q, Esc  quit\n  F       turn fullscreen on or off\n")) << key_help();
}

}  // namespace
}  // namespace framewire
