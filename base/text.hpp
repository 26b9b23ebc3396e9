// Parses and formats numbers, sizes and durations, and makes text from outside safe to print. The parsers throw Error
// (usage) that names the value and what is accepted.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace framewire {

struct Size {
  std::uint32_t width = 0;
  std::uint32_t height = 0;
  bool operator==(const Size&) const = default;
};

/// "3840x2160". Both sides 1 … 32768. `what` names the option in the error.
Size parse_size(std::string_view text, std::string_view what);

/// Whole decimal number between `low` and `high`.
std::uint64_t parse_number(std::string_view text, std::string_view what, std::uint64_t low, std::uint64_t high);

/// A number of bytes with an optional suffix k, M, G (powers of 1024).
std::uint64_t parse_bytes(std::string_view text, std::string_view what);

/// A duration: "10", "10s", "500ms", "2m", "1h"; a bare number is seconds. More than 0, at most a year.
std::int64_t parse_duration_ns(std::string_view text, std::string_view what);

/// "33.2 MB": powers of 1000, as everywhere in framewire's output.
std::string format_bytes(std::uint64_t bytes);

/// Makes text from outside, such as a peer's message, safe to print at the end of a message: one line without anything
/// that controls the terminal. Escapes the characters that control a terminal or the order of the text after them:
/// controls (C0, DEL and C1), line and paragraph separators, and bidirectional controls.
/// \xNN stands for a byte below 0x80 and for one that is not UTF-8, \uNNNN for any other character. Cuts after `limit`
/// characters. Escaping twice changes nothing.
std::string printable(std::string_view text, std::size_t limit = std::string_view::npos);
/// The same for a message that may have several lines, such as a shader's errors. Keeps tabs, and a line break if the
/// next line begins with a space. So text from outside cannot imitate a separate message.
std::string printable_lines(std::string_view text);
/// Whether this is UTF-8 without controls (C0, DEL and C1).
bool is_plain_text(std::string_view text);
/// As printable(), in quotation marks, so that it can be used anywhere in a message.
std::string quote(std::string_view text, std::size_t limit = 80);

}  // namespace framewire
