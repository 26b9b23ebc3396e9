#include "base/text.hpp"

#include <gtest/gtest.h>

#include "base/clock.hpp"
#include "base/error.hpp"

namespace framewire {
namespace {

TEST(ParseSize, TakesWidthTimesHeight) {
  EXPECT_EQ(parse_size("3840x2160", "--size"), (Size{3840, 2160}));
  EXPECT_EQ(parse_size("1x32768", "--size"), (Size{1, 32768}));
}

TEST(ParseSize, RefusesEverythingElseInOneSentence) {
  for (const char* text : {"", "x", "640", "640x", "x480", "0x480", "640x0", "32769x1", "-1x5", "640x480x2", "640X480",
                           " 640x480", "4e3x5"}) {
    try {
      parse_size(text, "--size");
      ADD_FAILURE() << text;
    } catch (const Error& error) {
      EXPECT_EQ(error.status(), ExitStatus::usage);
      EXPECT_NE(std::string(error.what()).find("--size"), std::string::npos);
      EXPECT_NE(std::string(error.what()).find(quote(std::string_view(text))), std::string::npos);
    }
  }
}

TEST(ParseNumber, KnowsItsBounds) {
  EXPECT_EQ(parse_number("64", "--slots", 1, 64), 64U);
  EXPECT_THROW(parse_number("65", "--slots", 1, 64), Error);
  EXPECT_THROW(parse_number("0", "--slots", 1, 64), Error);
  EXPECT_THROW(parse_number("1.5", "--slots", 1, 64), Error);
  EXPECT_THROW(parse_number("18446744073709551616", "--frames", 1, UINT64_MAX), Error);
}

TEST(ParseBytes, KnowsSuffixes) {
  EXPECT_EQ(parse_bytes("0", "x"), 0U);
  EXPECT_EQ(parse_bytes("64k", "x"), 65536U);
  EXPECT_EQ(parse_bytes("8M", "x"), 8U << 20);
  EXPECT_EQ(parse_bytes("1024G", "x"), std::uint64_t{1} << 40);
  for (const char* text : {"", "k", "1K", "1025G", "1 M", "-1", "99999999999999999999"}) {
    EXPECT_THROW(parse_bytes(text, "x"), Error) << text;
  }
}

TEST(ParseDuration, KnowsUnits) {
  EXPECT_EQ(parse_duration_ns("10", "x"), 10 * ns_per_s);
  EXPECT_EQ(parse_duration_ns("2.5s", "x"), 2'500 * ns_per_ms);
  EXPECT_EQ(parse_duration_ns("500ms", "x"), 500 * ns_per_ms);
  EXPECT_EQ(parse_duration_ns("3m", "x"), 180 * ns_per_s);
  EXPECT_EQ(parse_duration_ns("1h", "x"), 3600 * ns_per_s);
  for (const char* text : {"", "0", "-1", "ms", "1d", "nan", "inf", "1e300", "10 s", "9000h"}) {
    EXPECT_THROW(parse_duration_ns(text, "x"), Error) << text;
  }
}

TEST(FormatBytes, UsesPowersOfAThousand) {
  EXPECT_EQ(format_bytes(0), "0 B");
  EXPECT_EQ(format_bytes(999), "999 B");
  EXPECT_EQ(format_bytes(33'177'600), "33.2 MB");
  EXPECT_EQ(format_bytes(999'999'999'999), "1.0 TB");
}

TEST(Quoted, LetsNothingThroughThatATerminalWouldObey) {
  EXPECT_EQ(quote(std::string_view("a\x1b[2Jb\n")), "'a\\x1b[2Jb\\x0a'");
  EXPECT_EQ(quote(std::string_view("abcdef"), 3), "'abc…'");
  EXPECT_EQ(quote(std::string("x")), "'x'");
  EXPECT_EQ(printable("a\x1b[2Jb'c'", 100), "a\\x1b[2Jb'c'");
  EXPECT_EQ(printable("abcdef", 3), "abc…");
}

}  // namespace
}  // namespace framewire
