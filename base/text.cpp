#include "base/text.hpp"

#include <array>
#include <charconv>
#include <cstdio>

#include "base/clock.hpp"
#include "base/error.hpp"

namespace framewire {

namespace {

constexpr std::uint32_t max_side_pixels = 32768;

/// The whole text as a decimal number, or false.
template <typename Number>
bool read_all(std::string_view text, Number& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc{} && end == text.data() + text.size();
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
  constexpr std::uint64_t most_bytes = std::uint64_t{1} << 40;
  if (!read_all(digits, number) || number > most_bytes / unit) {
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
  constexpr double most_s = 366.0 * 24 * 3600;
  if (!read_all(digits, number) || !(number > 0) || number * static_cast<double>(unit_ns) > most_s * 1e9) {
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
  std::string out;
  for (const char c : text.substr(0, limit)) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte == 0x7f) {
      std::array<char, 8> escape{};
      std::snprintf(escape.data(), escape.size(), "\\x%02x", byte);
      out += escape.data();
    } else {
      out += c;
    }
  }
  return out + (text.size() > limit ? "…" : "");
}

std::string quote(std::string_view text, std::size_t limit) {
  return "'" + printable(text, limit) + "'";
}

}  // namespace framewire
