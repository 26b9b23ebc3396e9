#include "command/shell_word.hpp"

#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>

namespace framewire {
namespace {

TEST(ShellWord, PlainTextStaysAsItIs) {
  EXPECT_EQ(shell_word("/home/u/.config/framewire/key"), "/home/u/.config/framewire/key");
  EXPECT_EQ(shell_word("ens3f0np0.5"), "ens3f0np0.5");
}

TEST(ShellWord, WhatAShellWouldTakeApartIsQuoted) {
  EXPECT_EQ(shell_word("/home/a b/key"), "'/home/a b/key'");
  EXPECT_EQ(shell_word("$(reboot)"), "'$(reboot)'");
  EXPECT_EQ(shell_word("~/it's"), "'~/it'\\''s'");
  EXPECT_EQ(shell_word(""), "''");
}

TEST(ShellWord, WhatATerminalWouldObeyIsEscaped) {
  EXPECT_EQ(shell_word("key\033[2J"), "$'key\\033[2J'");
  EXPECT_EQ(shell_word("it's a \\\n"), "$'it\\'s a \\\\\\012'");
  EXPECT_EQ(shell_word("gl:\x8d\xff"), "$'gl:\\215\\377'");
  EXPECT_EQ(shell_word("\xe2\x80\xae/k\xc3\xa9y"), "$'\\342\\200\\256/k\\303\\251y'") << "a bidirectional control";
  EXPECT_EQ(shell_word("k\xc3\xa9y"), "'k\xc3\xa9y'");
}

TEST(ShellWord, BashReadsWhatWasMeant) {
  const std::string text = "a\033[2J'\\\n\xff b";
  ASSERT_EQ(::setenv("FRAMEWIRE_COMMAND", ("printf %s " + shell_word(text)).c_str(), 1), 0);
  FILE* const bash = ::popen("exec bash -c \"$FRAMEWIRE_COMMAND\"", "r");
  ASSERT_NE(bash, nullptr);
  char read[64] = {};
  const std::size_t bytes = std::fread(read, 1, sizeof read, bash);
  EXPECT_EQ(::pclose(bash), 0);
  EXPECT_EQ(std::string(read, bytes), text);
}

}  // namespace
}  // namespace framewire
