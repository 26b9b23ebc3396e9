// A viewer's rings: limits that it checks before it makes one, and how it leaves earlier ones.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <string>
#include <vector>

#include "frame/frame_layout.hpp"
#include "memory/block.hpp"

namespace framewire {

/// How much larger than one frame a slot may be: decoders need padded rows, and some devices planes that start on
/// pages. A sender copies pictures whose decoder needs more.
inline constexpr std::uint64_t slot_slack_bytes = std::uint64_t{1} << 20;
/// Ring slots of a picture stream: the maximum of `framewire send --slots`.
inline constexpr std::uint32_t max_picture_slots = 64;
/// Ring size of a byte stream: the maximum of rdsend's --slots times --slot-bytes.
inline constexpr std::uint64_t max_byte_ring_bytes = std::uint64_t{16} << 30;

/// Why a ring as announced is not allowed, as an error message for both sides; empty when it is allowed. A slot holds
/// one frame of the format and at most slot_slack_bytes more. The constants above limit the number of slots.
std::string find_ring_fault(const StreamFormat& format, std::uint64_t slot_bytes, std::uint32_t ring_slots);

/// Throws Error (failed) for zero or too many slots, for empty or too large slots, and for a ring that needs more than
/// half of this machine's free memory. The need includes `waiting_bytes`: the rings made earlier that wait for frames,
/// or for the program to take theirs. If these are the reason, it throws lost_peer: another session may find them gone.
void require_possible_ring(std::uint64_t slot_bytes, std::uint32_t ring_slots, std::uint64_t waiting_bytes);

/// Formats may follow each other without a frame between them, but only a few times. Throws Error (failed) when
/// `waiting_rings` rings (local: pools) without a frame leave no room for another one.
void require_room_for_ring(std::size_t waiting_rings);

/// The ring that is `wanted`, which then comes first; null if there is none. Frames arrive in order, so that earlier
/// rings get no more: they go to `left`. Whoever destroys that without the link's mutex frees their memory so, which
/// takes long, but for frames that are still held.
template <typename Ring, typename Wanted>
[[nodiscard]] Ring* leave_earlier(std::list<Ring>& rings, std::list<Ring>& left, const Wanted& wanted) noexcept {
  const auto found = std::ranges::find_if(rings, wanted);
  if (found == rings.end()) {
    return nullptr;
  }
  left.splice(left.end(), rings, rings.begin(), found);
  return &rings.front();
}

/// The rings of one link as long as they take memory: until the link has let go of them, and the program of their
/// frames. Used by the thread of begin_epoch().
class LivingRings {
 public:
  /// Rings whose frames the program has not taken, or keeps.
  static constexpr std::size_t max_waiting = 256;

  /// Throws Error when a further ring would be one too many (lost_peer), or take too much memory beside the others
  /// (require_possible_ring()). `in_use`: the ring whose frames arrive now, or null. It does not count, because the new
  /// one takes its place.
  void require_room(std::uint64_t slot_bytes, std::uint32_t ring_slots, const Block* in_use);
  void add(const std::shared_ptr<const Block>& ring) { rings_.emplace_back(ring); }

 private:
  std::vector<std::weak_ptr<const Block>> rings_;
};

}  // namespace framewire
