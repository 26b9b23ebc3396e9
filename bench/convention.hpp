// What the two ends of a benchmark agree on beyond a session: bits of the frame header's user tag.
#pragma once

#include <cstdint>

namespace framewire {

inline constexpr std::uint64_t bench_tag_spin = 1;   // the server polls in place of waiting
inline constexpr std::uint64_t bench_tag_touch = 2;  // the server reads every byte

}  // namespace framewire
