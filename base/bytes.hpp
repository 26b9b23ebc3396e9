// Copies bytes in the frame path.
#pragma once

#include <cassert>
#include <cstddef>
#include <cstring>
#include <span>

namespace framewire {

/// Copies `from` to the beginning of `to`, which must be at least as long and must not overlap it. std::ranges::copy is
/// slow here: with GCC 12 it copies one byte at a time.
inline void copy_bytes(std::span<const std::byte> from, std::span<std::byte> to) noexcept {
  assert(from.size() <= to.size());
  if (!from.empty()) {
    std::memcpy(to.data(), from.data(), from.size());
  }
}

}  // namespace framewire
