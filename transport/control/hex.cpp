#include "transport/control/hex.hpp"

#include <cassert>
#include <charconv>

namespace framewire {

void write_hex(std::span<const std::byte> bytes, std::span<char> digits) noexcept {
  assert(digits.size() == 2 * bytes.size());
  constexpr std::string_view alphabet = "0123456789abcdef";
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    const auto value = std::to_integer<unsigned>(bytes[i]);
    digits[2 * i] = alphabet[value >> 4];
    digits[2 * i + 1] = alphabet[value & 15U];
  }
}

std::string to_hex(std::span<const std::byte> bytes) {
  std::string digits(2 * bytes.size(), '0');
  write_hex(bytes, digits);
  return digits;
}

bool read_hex(std::string_view digits, std::span<std::byte> bytes) noexcept {
  if (digits.size() != 2 * bytes.size()) {
    return false;
  }
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    unsigned value = 0;
    const char* first = digits.data() + 2 * i;
    const auto [end, error] = std::from_chars(first, first + 2, value, 16);
    if (error != std::errc{} || end != first + 2) {
      return false;
    }
    bytes[i] = static_cast<std::byte>(value);
  }
  return true;
}

}  // namespace framewire
