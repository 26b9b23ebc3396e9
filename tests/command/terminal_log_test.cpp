#include "command/terminal_log.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstdio>
#include <functional>
#include <string>

namespace framewire {
namespace {

std::string said(const std::function<void(TerminalLog&)>& speak, bool details = false) {
  std::FILE* file = std::tmpfile();
  TerminalLog log(file, "framewire-test", details);
  speak(log);
  std::rewind(file);
  std::array<char, 1024> text{};
  const std::size_t size = std::fread(text.data(), 1, text.size(), file);
  std::fclose(file);
  return {text.data(), size};
}

TEST(TerminalLog, NamesTheProgramInErrorsOnly) {
  EXPECT_EQ(said([](TerminalLog& log) { log.error("no"); }), "framewire-test: no\n");
  EXPECT_EQ(said([](TerminalLog& log) { log.warning("hm"); }), "framewire-test: warning: hm\n");
  EXPECT_EQ(said([](TerminalLog& log) { log.info("yes"); }), "yes\n");
}

TEST(TerminalLog, ShowsDetailsOnlyWhenAsked) {
  EXPECT_EQ(said([](TerminalLog& log) { log.detail("fine"); }), "");
  EXPECT_EQ(said([](TerminalLog& log) { log.detail("fine"); }, true), "fine\n");
}

TEST(TerminalLog, WritesPlainLinesWhereThereIsNoTerminal) {
  EXPECT_EQ(said([](TerminalLog& log) {
              log.live("1 fps");
              log.live("2 fps");
              log.end_live();
            }),
            "1 fps\n2 fps\n");
}

TEST(TerminalLog, LetsNoPeerSteerTheTerminal) {
  EXPECT_EQ(said([](TerminalLog& log) { log.info("a\x1b]0;evil\a"); }), "a\\x1b]0;evil\\x07\n");
  EXPECT_EQ(said([](TerminalLog& log) { log.error("a\u009b2Jb\u202ec"); }), "framewire-test: a\\u009b2Jb\\u202ec\n");
  EXPECT_EQ(said([](TerminalLog& log) { log.live("1 fps\n\x9b"); }), "1 fps\\x0a\\x9b\n");
}

TEST(TerminalLog, LetsNoTextBeginALineThatLooksLikeAnother) {
  EXPECT_EQ(said([](TerminalLog& log) { log.warning("no\nframewire-test: all well\r"); }),
            "framewire-test: warning: no\\x0aframewire-test: all well\\x0d\n");
  EXPECT_EQ(said([](TerminalLog& log) { log.error("no:\n  line 1:\tx"); }), "framewire-test: no:\n  line 1:\tx\n");
}

}  // namespace
}  // namespace framewire
