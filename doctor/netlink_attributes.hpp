// Reads the attributes of netlink messages.
#pragma once

#include <linux/netlink.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <span>

namespace framewire {

/// As many bytes as are there; the others are zero.
template <typename Value>
Value value_at(std::span<const std::byte> bytes) noexcept {
  Value value{};
  std::memcpy(&value, bytes.data(), std::min(bytes.size(), sizeof value));
  return value;
}

/// Calls `take` with the type and the bytes of each attribute. Ends at the first one that does not fit.
template <typename Take>
void each_attribute(std::span<const std::byte> bytes, Take take) {
  constexpr unsigned type_mask = 0x3fff;  // NLA_TYPE_MASK as an unsigned number
  while (bytes.size() >= sizeof(nlattr)) {
    const auto head = value_at<nlattr>(bytes);
    if (head.nla_len < sizeof head || head.nla_len > bytes.size()) {
      return;
    }
    take(static_cast<int>(head.nla_type & type_mask), bytes.subspan(sizeof head, head.nla_len - sizeof head));
    bytes = bytes.subspan(std::min<std::size_t>(NLA_ALIGN(head.nla_len), bytes.size()));
  }
}

}  // namespace framewire
