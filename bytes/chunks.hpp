// The size and number of the chunks of a stream of bytes.
#pragma once

#include <cstdint>

namespace framewire {

/// Limits of a ring of chunks.
inline constexpr std::uint64_t min_chunk_bytes = 4096;
inline constexpr std::uint64_t max_chunk_bytes = std::uint64_t{64} << 20;
inline constexpr std::uint32_t min_chunks = 2;
inline constexpr std::uint32_t max_chunks = 256;

/// Defaults. A longer ring pushes its own chunks out of the caches: with 16 the rate within one machine is a tenth
/// lower. With fewer than 8 it is lower over rdma (docs/performance.md).
inline constexpr std::uint64_t default_slot_bytes = std::uint64_t{1} << 20;
inline constexpr std::uint32_t default_slots = 8;

}  // namespace framewire
