// The header cells of a ring: where the notifying write of every slice puts its frame header.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "frame/frame_header.hpp"

namespace framewire {

/// A cell holds a frame header and behind it, at header_bytes, a payload that is no longer than max_payload_in_cell:
/// such a slice is one write. Longer ones stand in their slot. Both ends know which by the length alone.
inline constexpr std::uint64_t max_payload_in_cell_bytes = 192;
/// From one cell to the next: whole cache lines.
inline constexpr std::uint64_t cell_stride_bytes = 640;
static_assert(cell_stride_bytes >= max_frame_header_bytes + max_payload_in_cell_bytes && cell_stride_bytes % 64 == 0);

/// One cell for every slice that a slot's frame may have: with few slots as many as a header can name, with many fewer,
/// so that the cells of a ring stay below 3 MB or so. At least 16.
constexpr std::uint32_t cells_per_slot_for(std::uint32_t ring_slots) noexcept {
  constexpr std::uint32_t cells_wanted = 4096;
  return std::clamp<std::uint32_t>(cells_wanted / std::max<std::uint32_t>(ring_slots, 1), 16, max_slices);
}

}  // namespace framewire
