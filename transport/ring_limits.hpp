// What a viewer agrees to before it makes a ring.
#pragma once

#include <cstddef>
#include <cstdint>

namespace framewire {

/// Throws Error (failed) for a ring of no or too many slots, or of slots that are empty or too large.
void require_possible_ring(std::uint64_t slot_bytes, std::uint32_t ring_slots);

/// Formats may follow each other without a frame between them, but not for ever. Throws Error (failed) when so many
/// rings (local: pools) are waiting for a frame already that another one is too many.
void require_room_for_ring(std::size_t waiting_rings);

}  // namespace framewire
