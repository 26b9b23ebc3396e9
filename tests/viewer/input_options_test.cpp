#include "viewer/input_options.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>

#include "base/error.hpp"
#include "viewer/key_codes.hpp"

namespace framewire {
namespace {

TEST(HostKeys, AreKeysOfGlfw) {
  std::set<std::string_view> words;
  for (const HostKey& host : host_keys()) {
    EXPECT_TRUE(words.insert(host.word).second);
    EXPECT_TRUE(std::ranges::any_of(key_codes(), [&](const KeyCode& key) { return key.usage == host.usage; }))
        << host.word;
  }
  EXPECT_EQ(host_keys().front().word, "right-ctrl");
  EXPECT_EQ(host_keys().front().usage, 0xE4);
  EXPECT_TRUE(host_key_words().starts_with("right-ctrl|right-alt|right-super|")) << host_key_words();
}

std::string refusal_of_input(const RawInputOptions& raw, bool is_headless = false) {
  try {
    static_cast<void>(read_input_options(raw, is_headless));
  } catch (const Error& error) {
    EXPECT_EQ(error.status(), ExitStatus::usage);
    return error.what();
  }
  return "";
}

TEST(InputOptions, AreThereOnlyIfAskedFor) {
  EXPECT_FALSE(read_input_options({}, false));
  EXPECT_FALSE(read_input_options({}, true));
  const auto usual = read_input_options({.wants_input = true}, false);
  ASSERT_TRUE(usual);
  EXPECT_EQ(usual->host_key.word, "right-ctrl");
  EXPECT_FALSE(usual->locks_pointer);
  const auto other = read_input_options({.wants_input = true, .host_key = "pause", .locks_pointer = true}, false);
  EXPECT_EQ(other.value().host_key.name, "Pause");
  EXPECT_TRUE(other->locks_pointer);
}

TEST(InputOptions, SayWhatIsWrong) {
  EXPECT_NE(refusal_of_input({.wants_input = true, .host_key = "q"}).find("--host-key is 'q'; it takes right-ctrl, "),
            std::string::npos);
  EXPECT_TRUE(refusal_of_input({.wants_input = true, .host_key = "q"}).ends_with(", menu or f12"));
  EXPECT_NE(refusal_of_input({.wants_input = true}, true).find("--headless"), std::string::npos);
  EXPECT_NE(refusal_of_input({.host_key = "f12"}).find("without --input"), std::string::npos);
  EXPECT_NE(refusal_of_input({.locks_pointer = true}).find("without --input"), std::string::npos);
}

}  // namespace
}  // namespace framewire
