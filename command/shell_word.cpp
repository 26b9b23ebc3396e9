#include "command/shell_word.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.hpp"

namespace framewire {

namespace {

bool is_plain(char c) {
  constexpr std::string_view signs = "/._-+,:@%=";
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
         signs.find(c) != std::string_view::npos;
}

/// As $'…'. Three octal digits end a byte; hexadecimal ones may go on in some shells.
std::string escaped_word(std::string_view text) {
  std::string word = "$'";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '\'' || c == '\\') {
      word += '\\';
    }
    word += byte < 0x20 || byte > 0x7e ? fmt::format("\\{:03o}", byte) : std::string(1, c);
  }
  return word + "'";
}

}  // namespace

std::string shell_word(std::string_view text) {
  if (!text.empty() && std::ranges::all_of(text, is_plain)) {
    return std::string(text);
  }
  if (printable(text) != text) {
    return escaped_word(text);
  }
  std::string word = "'";
  for (const char c : text) {
    word += c == '\'' ? std::string("'\\''") : std::string(1, c);
  }
  return word + "'";
}

}  // namespace framewire
