// What a viewer agrees to before it makes a ring.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "frame/frame_layout.hpp"

namespace framewire {

/// What a slot may have beyond one frame of the announced format: rows that end at whole units of some device, planes
/// that begin at pages. A sender of this release asks for none.
inline constexpr std::uint64_t slot_slack_bytes = std::uint64_t{1} << 20;
/// Of pictures: as many as `framewire send --slots` can make.
inline constexpr std::uint32_t max_picture_slots = 64;
/// Of byte streams, the whole ring: as much as rdsend's --slots and --slot-bytes can make.
inline constexpr std::uint64_t max_byte_ring_bytes = std::uint64_t{16} << 30;

/// Why no ring is made for what the sender announced, as a sentence for both ends; empty where one can be. A slot holds
/// one frame of the format and slot_slack_bytes; how many there may be is said above.
std::string find_ring_fault(const StreamFormat& format, std::uint64_t slot_bytes, std::uint32_t ring_slots);

/// Throws Error (failed) for a ring of no or too many slots, of slots that are empty or too large, and for one that
/// would take more than half of the memory that is free here, together with `waiting_bytes`: what earlier rings have
/// taken that no frame has come for.
void require_possible_ring(std::uint64_t slot_bytes, std::uint32_t ring_slots, std::uint64_t waiting_bytes);

/// Formats may follow each other without a frame between them, but not for ever. Throws Error (failed) when so many
/// rings (local: pools) are waiting for a frame already that another one is too many.
void require_room_for_ring(std::size_t waiting_rings);

}  // namespace framewire
