#include "command/shell_word.hpp"

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace framewire
