#include "base/text.hpp"

#include <array>
#include <charconv>
#include <cstdio>

#include "base/clock.hpp"
#include "base/error.hpp"

namespace framewire {

namespace {

constexpr std::uint32_t max_side_pixels = 32768;

/// Parses the whole text as a decimal number; returns false otherwise.
template <typename Number>
bool read_all(std::string_view text, Number& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc{} && end == text.data() + text.size();
}

struct Character {
  std::uint32_t code = 0;
  std::size_t bytes = 1;
  bool is_valid = false;
};

/// The first character of a non-empty text. A single byte if it is not valid UTF-8 (RFC 3629, which also excludes
/// overlong forms, surrogates and values above U+10FFFF).
Character first_character(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const std::uint32_t first = byte(0);
  if (first < 0x80) {
    return {.code = first, .is_valid = true};
  }
  const std::size_t bytes = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (first < 0xc2 || first > 0xf4 || text.size() < bytes) {
    return {.code = first};
  }
  std::uint32_t code = first & (0x7fU >> bytes);
  for (std::size_t i = 1; i < bytes; ++i) {
    if ((byte(i) & 0xc0U) != 0x80) {
      return {.code = first};
    }
    code = code << 6 | (byte(i) & 0x3fU);
  }
  constexpr std::array<std::uint32_t, 5> least = {0, 0, 0x80, 0x800, 0x10000};
  const bool is_surrogate = code >= 0xd800 && code <= 0xdfff;
  if (code < least.at(bytes) || is_surrogate || code > 0x10ffff) {
    return {.code = first};
  }
  return {.code = code, .bytes = bytes, .is_valid = true};
}

/// Whether the character controls a terminal or the layout of text: ECMA-48 controls (C0, DEL, C1), and Unicode's line
/// and paragraph separators and bidirectional marks, embeddings, overrides and isolates (UAX #9).
bool steers(std::uint32_t code) noexcept {
  return code < 0x20 || (code >= 0x7f && code <= 0x9f) || code == 0x61c || code == 0x200e || code == 0x200f ||
         (code >= 0x2028 && code <= 0x202e) || (code >= 0x2066 && code <= 0x2069);
}

std::string escaped(std::string_view text, std::size_t limit, bool has_lines) {
  std::string out;
  for (; !text.empty() && limit > 0; --limit) {
    const Character next = first_character(text);
    const bool is_layout = has_lines && (text.front() == '\t' || text.starts_with("\n "));
    if (next.is_valid && (is_layout || !steers(next.code))) {
      out += text.substr(0, next.bytes);
    } else {
      std::array<char, 8> escape{};
      const bool is_byte = !next.is_valid || next.code < 0x80;
      std::snprintf(escape.data(), escape.size(), is_byte ? "\\x%02x" : "\\u%04x", next.code);
      out += escape.data();
    }
    text.remove_prefix(next.bytes);
  }
  return out + (text.empty() ? "" : "…");
}

}  // namespace

Size parse_size(std::string_view text, std::string_view what) {
  const auto cross = text.find('x');
  Size size;
  if (cross == std::string_view::npos || !read_all(text.substr(0, cross), size.width) ||
      !read_all(text.substr(cross + 1), size.height) || size.width == 0 || size.height == 0 ||
      size.width > max_side_pixels || size.height > max_side_pixels) {
    throw Error::usage(std::string(what) + " is " + quote(text) +
                       "; it takes WIDTHxHEIGHT, each 1 to 32768, as in 3840x2160");
  }
  return size;
}

std::uint64_t parse_number(std::string_view text, std::string_view what, std::uint64_t low, std::uint64_t high) {
  std::uint64_t number = 0;
  if (!read_all(text, number) || number < low || number > high) {
    throw Error::usage(std::string(what) + " is " + quote(text) + "; it takes a whole number from " +
                       std::to_string(low) + " to " + std::to_string(high));
  }
  return number;
}

std::uint64_t parse_bytes(std::string_view text, std::string_view what) {
  std::uint64_t unit = 1;
  std::string_view digits = text;
  if (!digits.empty()) {
    constexpr std::string_view suffixes = "kMG";
    const auto power = suffixes.find(digits.back());
    if (power != std::string_view::npos) {
      unit <<= 10 * (power + 1);
      digits.remove_suffix(1);
    }
  }
  std::uint64_t number = 0;
  constexpr std::uint64_t max_bytes = std::uint64_t{1} << 40;
  if (!read_all(digits, number) || number > max_bytes / unit) {
    throw Error::usage(std::string(what) + " is " + quote(text) +
                       "; it takes a number of bytes up to 1024G, as in 4096, 64k, 32M");
  }
  return number * unit;
}

std::int64_t parse_duration_ns(std::string_view text, std::string_view what) {
  std::int64_t unit_ns = ns_per_s;
  std::string_view digits = text;
  const auto strip = [&](std::string_view suffix, std::int64_t ns) {
    if (!digits.ends_with(suffix)) {
      return false;
    }
    digits.remove_suffix(suffix.size());
    unit_ns = ns;
    return true;
  };
  strip("ms", ns_per_ms) || strip("s", ns_per_s) || strip("m", 60 * ns_per_s) || strip("h", 3600 * ns_per_s);
  double number = 0;
  constexpr double max_s = 366.0 * 24 * 3600;
  if (!read_all(digits, number) || !(number > 0) || number * static_cast<double>(unit_ns) > max_s * 1e9) {
    throw Error::usage(std::string(what) + " is " + quote(text) +
                       "; it takes a duration as in 10, 2.5s, 500ms, 3m or 1h");
  }
  return static_cast<std::int64_t>(number * static_cast<double>(unit_ns));
}

std::string format_bytes(std::uint64_t bytes) {
  constexpr std::array units = {"B", "kB", "MB", "GB", "TB"};
  double amount = static_cast<double>(bytes);
  std::size_t unit = 0;
  while (amount >= 999.5 && unit + 1 < units.size()) {
    amount /= 1000;
    ++unit;
  }
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), unit == 0 ? "%.0f %s" : "%.1f %s", amount, units.at(unit));
  return text.data();
}

std::string printable(std::string_view text, std::size_t limit) {
  return escaped(text, limit, false);
}

std::string printable_lines(std::string_view text) {
  return escaped(text, std::string_view::npos, true);
}

bool is_plain_text(std::string_view text) {
  while (!text.empty()) {
    const Character next = first_character(text);
    if (!next.is_valid || next.code < 0x20 || (next.code >= 0x7f && next.code <= 0x9f)) {
      return false;
    }
    text.remove_prefix(next.bytes);
  }
  return true;
}

std::string quote(std::string_view text, std::size_t limit) {
  return "'" + printable(text, limit) + "'";
}

}  // namespace framewire
