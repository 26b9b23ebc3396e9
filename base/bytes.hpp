// Copying bytes on the way of every frame.
#pragma once

#include <cassert>
#include <cstddef>
#include <cstring>
#include <span>

namespace framewire {

/// Copies `from` to the beginning of `to`, which is at least as long and does not overlap it. std::ranges::copy does
/// the same, but takes one byte at a time with GCC 12: seven instructions for each.
inline void copy_bytes(std::span<const std::byte> from, std::span<std::byte> to) noexcept {
  assert(from.size() <= to.size());
  if (!from.empty()) {
    std::memcpy(to.data(), from.data(), from.size());
  }
}

}  // namespace framewire
