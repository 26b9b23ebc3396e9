#include "viewer/tear_check.hpp"

#include <xxhash.h>

#include <utility>

#include "frame/test_pattern.hpp"

namespace framewire {

std::optional<bool> has_wrong_test_pattern(const FrameHeader& header, std::span<const std::byte> payload) noexcept {
  if (!header.has_test_pattern) {
    return std::nullopt;
  }
  return find_torn_byte(payload, header.sequence, header.user_tag).has_value();
}

void TearCheck::begin(const FrameHeader& header, std::span<const std::byte> payload) noexcept {
  fingerprint_.reset();
  if (verify_ && !header.has_test_pattern) {
    fingerprint_ = XXH3_64bits(payload.data(), payload.size());
  }
}

std::optional<bool> TearCheck::end(const FrameHeader& header, std::span<const std::byte> payload) noexcept {
  if (const auto before = std::exchange(fingerprint_, std::nullopt)) {
    return XXH3_64bits(payload.data(), payload.size()) != *before;
  }
  return has_wrong_test_pattern(header, payload);
}

}  // namespace framewire
