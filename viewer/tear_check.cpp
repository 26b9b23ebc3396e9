#include "viewer/tear_check.hpp"

#include <xxhash.h>

#include <utility>

#include "frame/stamp.hpp"

namespace framewire {

std::optional<bool> has_wrong_stamps(const FrameHeader& header, std::span<const std::byte> payload) noexcept {
  if (!header.is_stamped) {
    return std::nullopt;
  }
  return find_torn_byte(payload, header.sequence, header.user_tag).has_value();
}

void TearCheck::begin(const FrameHeader& header, std::span<const std::byte> payload) noexcept {
  fingerprint_.reset();
  if (verifies_ && !header.is_stamped) {
    fingerprint_ = XXH3_64bits(payload.data(), payload.size());
  }
}

std::optional<bool> TearCheck::end(const FrameHeader& header, std::span<const std::byte> payload) noexcept {
  if (const auto before = std::exchange(fingerprint_, std::nullopt)) {
    return XXH3_64bits(payload.data(), payload.size()) != *before;
  }
  return has_wrong_stamps(header, payload);
}

}  // namespace framewire
