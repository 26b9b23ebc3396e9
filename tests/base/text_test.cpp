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

TEST(ParseSize, RefusesEverythingElseWithOneError) {
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

TEST(Printable, EscapesWhatSteersATerminalAndNothingElse) {
  EXPECT_EQ(printable("\x7f\r\n\t"), "\\x7f\\x0d\\x0a\\x09");
  EXPECT_EQ(printable("\u0080\u009b31m\u009f\u00a0"), "\\u0080\\u009b31m\\u009f\u00a0");
  EXPECT_EQ(printable("\u061c\u200e\u200f"), "\\u061c\\u200e\\u200f");
  EXPECT_EQ(printable("\u2028\u2029\u202a\u202b\u202c\u202d\u202e"),
            "\\u2028\\u2029\\u202a\\u202b\\u202c\\u202d\\u202e");
  EXPECT_EQ(printable("\u2066\u2067\u2068\u2069"), "\\u2066\\u2067\\u2068\\u2069");
  constexpr std::string_view harmless =
      "Käse – ß … \u2027\u202f\u2065\u206a שלום \U0001f468\u200d\U0001f680 𝄞 \U0010ffff";
  EXPECT_EQ(printable(harmless), harmless);
  EXPECT_EQ(printable(std::string_view("a\0b", 3)), "a\\x00b");
  EXPECT_EQ(printable(""), "");
}

TEST(Printable, ShowsWhatIsNotUtf8ByByte) {
  EXPECT_EQ(printable("\x9b"
                      "31m"),
            "\\x9b31m");
  EXPECT_EQ(printable("a\xff\xfe"
                      "b"),
            "a\\xff\\xfeb");
  EXPECT_EQ(printable("\xc2"), "\\xc2");
  EXPECT_EQ(printable("\xe2\x80"), "\\xe2\\x80");
  EXPECT_EQ(printable("\xe2\x80x"), "\\xe2\\x80x");
  EXPECT_EQ(printable("\xc0\x9b\xc1\xbf"), "\\xc0\\x9b\\xc1\\xbf");  // overlong encodings
  EXPECT_EQ(printable("\xe0\x82\x9b"), "\\xe0\\x82\\x9b");
  EXPECT_EQ(printable("\xf0\x80\x82\x9b"), "\\xf0\\x80\\x82\\x9b");
  EXPECT_EQ(printable("\xed\xa0\x80"), "\\xed\\xa0\\x80");           // a surrogate
  EXPECT_EQ(printable("\xf4\x90\x80\x80"), "\\xf4\\x90\\x80\\x80");  // above U+10FFFF
  EXPECT_EQ(printable("\xf8\x88\x80\x80\x80"), "\\xf8\\x88\\x80\\x80\\x80");
}

/// For any bytes, printable() gives UTF-8 without control characters. Applying it again changes nothing.
TEST(Printable, OfAnyBytesIsSafeAndStaysAsItIs) {
  for (unsigned first = 0; first < 256; ++first) {
    for (unsigned second = 0; second < 256; ++second) {
      const std::string text{'x', static_cast<char>(first), static_cast<char>(second), 'y'};
      const std::string shown = printable(text);
      ASSERT_EQ(printable(shown), shown);
      ASSERT_TRUE(shown.starts_with('x') && shown.ends_with('y')) << shown;
      for (const char c : shown) {
        ASSERT_TRUE(static_cast<unsigned char>(c) >= 0x20 && c != 0x7f) << shown;
      }
    }
  }
}

TEST(Printable, CutsBetweenCharacters) {
  EXPECT_EQ(printable("äöü", 2), "äö…");
  EXPECT_EQ(printable("äö", 2), "äö");
  EXPECT_EQ(printable("\u202ea", 1), "\\u202e…");
}

TEST(Printable, LinesStayWhereTheyGoOnWithASpace) {
  EXPECT_EQ(printable_lines("a:\n  b\tc"), "a:\n  b\tc");
  EXPECT_EQ(printable_lines("a\nb\n"), "a\\x0ab\\x0a");
  EXPECT_EQ(printable_lines("a\r\n\u009b"), "a\\x0d\\x0a\\u009b");
}

}  // namespace
}  // namespace framewire
