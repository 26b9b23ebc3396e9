#include "bench/verbs/verbs_payload.hpp"

#include <algorithm>
#include <array>
#include <cstring>

namespace framewire {

namespace {

std::array<std::byte, verbs_stamp_bytes> stamp_of(std::uint64_t number) noexcept {
  std::array<std::byte, verbs_stamp_bytes> stamp;
  for (std::size_t i = 0; i < stamp.size(); ++i) {
    stamp[i] = static_cast<std::byte>((number + 1) >> (8 * i) & 0xff);
  }
  return stamp;
}

std::size_t stamp_size(std::span<const std::byte> message) noexcept {
  return std::min(message.size(), verbs_stamp_bytes);
}

}  // namespace

void fill_verbs_payload(std::span<std::byte> message, std::byte with) noexcept {
  std::memset(message.data(), std::to_integer<int>(with), message.size());
}

void stamp_verbs_payload(std::span<std::byte> message, std::uint64_t number) noexcept {
  const auto stamp = stamp_of(number);
  std::memcpy(message.last(stamp_size(message)).data(), stamp.data(), stamp_size(message));
}

bool is_stamped(std::span<const std::byte> message, std::uint64_t number) noexcept {
  const auto stamp = stamp_of(number);
  return std::memcmp(message.last(stamp_size(message)).data(), stamp.data(), stamp_size(message)) == 0;
}

bool is_filled(std::span<const std::byte> message, std::byte with) noexcept {
  const auto body = message.first(message.size() - stamp_size(message));
  // Each byte equals the next one, and the first is the expected one.
  return body.empty() || (body.front() == with && std::memcmp(body.data(), body.data() + 1, body.size() - 1) == 0);
}

}  // namespace framewire
