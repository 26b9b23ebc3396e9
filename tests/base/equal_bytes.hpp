// Whether two runs of bytes are the same.
#pragma once

#include <cstddef>
#include <cstring>
#include <span>

namespace framewire::test {

/// In one call: pictures are large, and with sanitizers a comparison byte by byte takes most of a test's time.
inline bool are_equal(std::span<const std::byte> one, std::span<const std::byte> other) {
  return one.size() == other.size() && (one.empty() || std::memcmp(one.data(), other.data(), one.size()) == 0);
}

}  // namespace framewire::test
