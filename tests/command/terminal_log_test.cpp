#include "command/terminal_log.hpp"

#include <gtest/gtest.h>
#include <pty.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
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

TEST(TerminalLog, CutsTheLiveLineToTheTerminal) {
  int reads = -1;
  int writes = -1;
  const winsize size{.ws_row = 24, .ws_col = 8, .ws_xpixel = 0, .ws_ypixel = 0};
  ASSERT_EQ(::openpty(&reads, &writes, nullptr, nullptr, &size), 0);
  std::FILE* terminal = ::fdopen(writes, "w");
  TerminalLog log(terminal, "framewire-test", false);
  log.live("12345678 and more");
  std::array<char, 64> text{};
  const ssize_t got = ::read(reads, text.data(), text.size());
  EXPECT_EQ(std::string(text.data(), static_cast<std::size_t>(std::max<ssize_t>(got, 0))), "\r\x1b[K1234567…");
  std::fclose(terminal);
  ::close(reads);
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
