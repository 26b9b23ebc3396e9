// Header cells of a ring. The announcing write of every slice puts the frame header into one.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "frame/frame_header.hpp"

namespace framewire {

/// A cell holds a frame header. A payload of at most max_payload_in_cell_bytes follows it in the cell, at header_bytes,
/// so such a slice needs only one write. A longer payload stands in its slot. Both sides decide by the payload's length
/// alone.
inline constexpr std::uint64_t max_payload_in_cell_bytes = 192;
/// Distance between two cells: whole cache lines.
inline constexpr std::uint64_t cell_stride_bytes = 640;
static_assert(cell_stride_bytes >= max_frame_header_bytes + max_payload_in_cell_bytes && cell_stride_bytes % 64 == 0);

/// One cell for every slice of a slot's frame. With few slots it is the most that a header can name. With many slots it
/// is fewer, so that the cells of a ring stay below about 3 MB; at least 16.
constexpr std::uint32_t cells_per_slot_for(std::uint32_t ring_slots) noexcept {
  constexpr std::uint32_t cells_wanted = 4096;
  return std::clamp<std::uint32_t>(cells_wanted / std::max<std::uint32_t>(ring_slots, 1), 16, max_slices);
}

}  // namespace framewire
