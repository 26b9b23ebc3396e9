// The pieces in which bytes travel.
#pragma once

#include <cstdint>

namespace framewire {

/// What a ring of pieces can be.
inline constexpr std::uint64_t least_slot_bytes = 4096;
inline constexpr std::uint64_t most_slot_bytes = std::uint64_t{64} << 20;
inline constexpr std::uint32_t least_slots = 2;
inline constexpr std::uint32_t most_slots = 256;

/// What it is unless somebody asks for something else. A longer ring pushes its own pieces out of the caches: 16
/// carry a tenth less within one machine; fewer than 8 carry less over rdma (docs/performance.md).
inline constexpr std::uint64_t usual_slot_bytes = std::uint64_t{1} << 20;
inline constexpr std::uint32_t usual_slots = 8;

}  // namespace framewire
