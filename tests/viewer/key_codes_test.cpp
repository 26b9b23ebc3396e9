#include "viewer/key_codes.hpp"

#define GLFW_INCLUDE_NONE
#include <GLFW/glfw3.h>
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <string>

namespace framewire {
namespace {

/// As the header has them that this was compiled with: "F25" -> 314.
std::map<std::string, int> keys_of_glfw() {
  std::ifstream header(FRAMEWIRE_GLFW_HEADER);
  const std::regex definition(R"(#define GLFW_KEY_(\w+)\s+(\d+)\b.*)");
  std::map<std::string, int> keys;
  for (std::string line; std::getline(header, line);) {
    if (std::smatch match; std::regex_match(line, match, definition)) {
      keys[match[1]] = std::stoi(match[2]);
    }
  }
  return keys;
}

TEST(KeyCodes, AreThereForEveryKeyOfGlfw) {
  const auto keys = keys_of_glfw();
  ASSERT_GE(keys.size(), 120U) << FRAMEWIRE_GLFW_HEADER;
  std::set<int> numbers;
  for (const auto& [name, number] : keys) {
    EXPECT_NE(find_key_code(number), nullptr) << name;
    numbers.insert(number);
  }
  EXPECT_EQ(key_codes().size(), numbers.size());
  EXPECT_EQ(find_key_code(GLFW_KEY_UNKNOWN), nullptr);
}

TEST(KeyCodes, HaveUsagesAndKeysymsOfTheirOwn) {
  std::set<std::uint16_t> usages;
  std::set<std::uint32_t> keysyms;
  for (const KeyCode& key : key_codes()) {
    if (key.glfw != GLFW_KEY_F25) {  // HID ends at F24
      EXPECT_GE(key.usage, 0x04) << key.glfw;
      EXPECT_TRUE(usages.insert(key.usage).second) << key.glfw;
    }
    if (key.keysym != 0) {
      EXPECT_TRUE(keysyms.insert(key.keysym).second) << key.glfw;
    } else {
      EXPECT_LT(key.glfw, GLFW_KEY_ESCAPE) << "the layout knows only what is printed on keys";
    }
  }
}

TEST(KeyCodes, AreThoseOfTheTables) {
  const auto check = [](int key, std::uint16_t usage, std::uint32_t keysym) {
    ASSERT_NE(find_key_code(key), nullptr) << key;
    EXPECT_EQ(find_key_code(key)->usage, usage) << key;
    EXPECT_EQ(find_key_code(key)->keysym, keysym) << key;
  };
  check(GLFW_KEY_A, 0x04, 0);
  check(GLFW_KEY_Z, 0x1D, 0);
  check(GLFW_KEY_1, 0x1E, 0);
  check(GLFW_KEY_0, 0x27, 0);
  check(GLFW_KEY_SPACE, 0x2C, 0x20);
  check(GLFW_KEY_ENTER, 0x28, 0xFF0D);
  check(GLFW_KEY_F1, 0x3A, 0xFFBE);
  check(GLFW_KEY_F12, 0x45, 0xFFC9);
  check(GLFW_KEY_F13, 0x68, 0xFFCA);
  check(GLFW_KEY_F24, 0x73, 0xFFD5);
  check(GLFW_KEY_F25, 0, 0xFFD6);
  check(GLFW_KEY_KP_1, 0x59, 0xFFB1);
  check(GLFW_KEY_KP_0, 0x62, 0xFFB0);
  check(GLFW_KEY_LEFT, 0x50, 0xFF51);
  check(GLFW_KEY_PAGE_DOWN, 0x4E, 0xFF56);
  check(GLFW_KEY_RIGHT_SUPER, 0xE7, 0xFFEC);
}

TEST(KeyCodes, NumberCharactersAsX11Does) {
  EXPECT_EQ(keysym_of("a"), 0x61U);
  EXPECT_EQ(keysym_of("ö"), 0xF6U);
  EXPECT_EQ(keysym_of("ж"), 0x01000436U);
  EXPECT_EQ(keysym_of("€"), 0x010020ACU);
  EXPECT_EQ(keysym_of("😀"), 0x0101F600U);
  for (const char* const none : {"", "ab", "\x7F", "\n", "\xC2\x80"}) {
    EXPECT_EQ(keysym_of(none), 0U) << none;
  }
}

}  // namespace
}  // namespace framewire
