// Numbers, sizes and durations as people write them. All functions throw Error (usage) that names the value and what is
// taken.
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

/// "33.2 MB" in powers of 1000, as rates and memory are stated everywhere in framewire.
std::string format_bytes(std::uint64_t bytes);

/// Text from outside as it may stand at the end of a message, a peer's own sentence: one line, in which a terminal
/// finds nothing to obey. Characters that steer it, or the order in which it shows what follows, are escaped: controls
/// (C0, DEL and C1), ends of lines and paragraphs, and those for bidirectional text. \xNN stands for a byte below 0x80
/// and for one that is not UTF-8, \uNNNN for any other character. Cut after `limit` characters. Escaping again changes
/// nothing.
std::string printable(std::string_view text, std::size_t limit = std::string_view::npos);
/// The same for a message that may have more than one line, as a shader's faults: a line's end stays before a line that
/// begins with a space, and tabs do. So nothing that was put into the message makes a line that looks like another one.
std::string printable_lines(std::string_view text);
/// As printable() between quotation marks, as it may stand anywhere.
std::string quote(std::string_view text, std::size_t limit = 80);

}  // namespace framewire
