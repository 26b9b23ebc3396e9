// Secrets and ids as hexadecimal digits.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace framewire {

/// Writes two lower-case digits per byte; the size of `digits` is exactly that.
void write_hex(std::span<const std::byte> bytes, std::span<char> digits) noexcept;
std::string to_hex(std::span<const std::byte> bytes);

/// Reads two digits per byte, upper or lower case. False unless `digits` has exactly that size and contains only such
/// digits.
bool read_hex(std::string_view digits, std::span<std::byte> bytes) noexcept;

}  // namespace framewire
