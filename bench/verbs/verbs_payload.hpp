// What stands in a raw message, so that both ends can tell whether it moved.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace framewire {

/// All bytes are one that is not 0, but for a stamp at the end: the last up to 8 bytes are its number and 1, low byte
/// first, so that memory that was never written bears none.
inline constexpr std::size_t verbs_stamp_bytes = 8;

/// The byte that messages of a number are filled with: those of neighbours differ.
constexpr std::byte verbs_fill_byte(std::uint64_t number) noexcept {
  return static_cast<std::byte>(1 + number % 255);
}

void fill_verbs_payload(std::span<std::byte> message, std::byte with) noexcept;
void stamp_verbs_payload(std::span<std::byte> message, std::uint64_t number) noexcept;
[[nodiscard]] bool is_stamped(std::span<const std::byte> message, std::uint64_t number) noexcept;
/// Reads every byte before the stamp.
[[nodiscard]] bool is_filled(std::span<const std::byte> message, std::byte with) noexcept;

}  // namespace framewire
