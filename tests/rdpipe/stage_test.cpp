#include "rdpipe/stage.hpp"

#include <gtest/gtest.h>

#include "base/error.hpp"
#include "rdpipe/options.hpp"

namespace framewire {
namespace {

Stage only(const std::string& word) {
  return parse_stages({word}).front();
}

TEST(Stage, HasAHostAndACommand) {
  const Stage stage = only("me@host:tr a b | cat");
  EXPECT_EQ(stage.host, "me@host");
  EXPECT_EQ(stage.text, "tr a b | cat");
  EXPECT_EQ(stage.work, StageWork::command);
  EXPECT_FALSE(stage.is_here());
  EXPECT_TRUE(only(":ls").is_here());
  EXPECT_EQ(only(": ls ").text, " ls ") << "a command's blanks are its own";
  EXPECT_EQ(only("h:echo a:b").text, "echo a:b");
}

TEST(Stage, TakesIpv6InBrackets) {
  EXPECT_EQ(only("[2001:db8::1]:cat").host, "2001:db8::1");
  EXPECT_EQ(only("me@[::1]:cat").host, "me@::1");
  EXPECT_EQ(only("h:echo [x]:y").text, "echo [x]:y");
}

TEST(Stage, IsAWordOfTheCommandLineAsItWasTyped) {
  const std::vector<const char*> words = {"rdpipe", "[fd00::2]:cat part.[0-9]", ":tr [a-z] [A-Z]"};
  const auto options = parse_rdpipe_options(static_cast<int>(words.size()), words.data());
  ASSERT_TRUE(options.has_value());
  ASSERT_EQ(options->stages.size(), 2U);
  EXPECT_EQ(options->stages.front().host, "fd00::2");
  EXPECT_EQ(options->stages.front().text, "cat part.[0-9]");
  EXPECT_EQ(options->stages.back().text, "tr [a-z] [A-Z]");
}

TEST(Stage, ReadsAndWritesFiles) {
  const Stage source = only("h:< /a file");
  EXPECT_EQ(source.work, StageWork::source);
  EXPECT_EQ(source.text, "/a file");
  EXPECT_EQ(only("h:>x").work, StageWork::sink);
  EXPECT_FALSE(only("h:>x").appends);
  EXPECT_TRUE(only("h: >> x").appends);
  EXPECT_EQ(only("h: >> x").text, "x");
  EXPECT_EQ(only("h:>>>x").text, ">x") << "a strange name, but one";
}

TEST(Stage, WhatIsNoneIsNamed) {
  for (const char* word : {"", "cat", "h:", ":", "h:   ", "h:<", "h:>>  ", "-o:cat", "a b:cat", "a\nb:cat", "@h:cat",
                           "me@:cat", "[::1:cat"}) {
    try {
      parse_stages({word});
      ADD_FAILURE() << "'" << word << "' was taken";
    } catch (const Error& error) {
      EXPECT_EQ(error.status(), ExitStatus::usage);
      EXPECT_NE(std::string(error.what()).find("a stage is HOST:'command'"), std::string::npos) << error.what();
    }
  }
}

TEST(Stage, FilesStandAtTheEnds) {
  EXPECT_EQ(parse_stages({"h:<a", "h:cat", "h:>b"}).size(), 3U);
  EXPECT_THROW(parse_stages({"h:cat", "h:<a"}), Error);
  EXPECT_THROW(parse_stages({"h:>a", "h:cat"}), Error);
  EXPECT_THROW(parse_stages({}), Error);
}

TEST(Stage, IsDescribedOnOneLine) {
  EXPECT_EQ(describe(only("h:rev"), 2), "stage 2 (h: 'rev')");
  EXPECT_EQ(describe(only(":>>x y")), "here: >>'x y'");
  EXPECT_EQ(describe(only("h:a\nb")), "h: 'a\\x0ab'");
  EXPECT_LT(describe(only("h:" + std::string(500, 'x'))).size(), 80U);
}

}  // namespace
}  // namespace framewire
