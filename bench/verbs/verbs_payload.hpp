// The payload of a verbs message, by which both sides check that the data has moved.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace framewire {

/// All bytes have one value other than 0, except a stamp at the end: the last up to 8 bytes are the message's number
/// plus 1, low byte first, so that memory that was never written has no valid stamp.
inline constexpr std::size_t verbs_stamp_bytes = 8;

/// The value of a message's bytes. Consecutive messages have different values.
constexpr std::byte verbs_fill_byte(std::uint64_t number) noexcept {
  return static_cast<std::byte>(1 + number % 255);
}

void fill_verbs_payload(std::span<std::byte> message, std::byte with) noexcept;
void stamp_verbs_payload(std::span<std::byte> message, std::uint64_t number) noexcept;
[[nodiscard]] bool is_stamped(std::span<const std::byte> message, std::uint64_t number) noexcept;
/// Reads every byte before the stamp.
[[nodiscard]] bool is_filled(std::span<const std::byte> message, std::byte with) noexcept;

}  // namespace framewire
