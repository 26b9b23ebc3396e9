#include "command/command_line.hpp"

#include <gtest/gtest.h>

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace framewire {
namespace {

using Words = std::vector<std::string>;

/// What looks like a list to CLI11, and what nearly does.
const Words bracketed = {"[report]", "[a,b]", "[fd00::2]:cat part.[0-9]", "[]", "[", "]", "[[a],[b]]", "[a]b"};

/// Of a program with each kind of option and argument.
struct Parsed {
  Words files{}, names{};
  std::string address{};
  bool is_loud = false;
};

Parsed parsed(const Words& words) {
  Parsed result;
  CLI::App app("does something", "program");
  app.add_option("FILE", result.files, "the files");
  app.add_option("--name", result.names, "their names")->allow_extra_args(false);
  app.add_option("--address", result.address, "where they are");
  app.add_flag("--loud", result.is_loud, "says more");
  std::vector<const char*> argv = {"program"};
  for (const std::string& word : words) {
    argv.push_back(word.c_str());
  }
  EXPECT_TRUE(parse_command_line(app, static_cast<int>(argv.size()), argv.data()));
  return result;
}

TEST(CommandLineWords, ArriveByteForByte) {
  for (const std::string& word : bracketed) {
    EXPECT_EQ(parsed({word}).files, Words{word});
    EXPECT_EQ(parsed({"--loud", "a", word, "b"}).files, (Words{"a", word, "b"}));
    EXPECT_EQ(parsed({"--", word}).files, Words{word});
  }
  EXPECT_EQ(parsed(bracketed).files, bracketed);
}

TEST(CommandLineWords, ArriveByteForByteAsValuesOfOptions) {
  for (const std::string& word : bracketed) {
    EXPECT_EQ(parsed({"--address", word}).address, word);
    EXPECT_EQ(parsed({"--address=" + word, "a"}).address, word);
    EXPECT_EQ(parsed({"--name", word, "--name=" + word}).names, (Words{word, word}));
  }
  const Parsed all = parsed({"--name", "[a]", "[b]", "--loud", "--address", "[::1]", "[c]"});
  EXPECT_EQ(all.names, Words{"[a]"});
  EXPECT_EQ(all.files, (Words{"[b]", "[c]"}));
  EXPECT_EQ(all.address, "[::1]");
  EXPECT_TRUE(all.is_loud);
}

}  // namespace
}  // namespace framewire
