// The chunks in which bytes travel.
#pragma once

#include <cstdint>

namespace framewire {

/// What a ring of chunks can be.
inline constexpr std::uint64_t min_chunk_bytes = 4096;
inline constexpr std::uint64_t max_chunk_bytes = std::uint64_t{64} << 20;
inline constexpr std::uint32_t min_chunks = 2;
inline constexpr std::uint32_t max_chunks = 256;

/// What it is unless somebody asks for something else. A longer ring pushes its own chunks out of the caches: 16
/// carry a tenth less within one machine; fewer than 8 carry less over rdma (docs/performance.md).
inline constexpr std::uint64_t default_slot_bytes = std::uint64_t{1} << 20;
inline constexpr std::uint32_t default_slots = 8;

}  // namespace framewire
