#include "transport/ring_limits.hpp"

#include <string>

#include "base/error.hpp"
#include "frame/frame_layout.hpp"
#include "transport/pool.hpp"

namespace framewire {

namespace {

constexpr std::size_t most_rings = 64;

}  // namespace

void require_possible_ring(std::uint64_t slot_bytes, std::uint32_t ring_slots) {
  if (slot_bytes == 0 || slot_bytes > max_slot_bytes || ring_slots == 0 || ring_slots > max_pool_slots) {
    throw Error::failed("the sender asks for a ring of " + std::to_string(ring_slots) + " slots of " +
                        std::to_string(slot_bytes) + " bytes, which is not possible");
  }
}

void require_room_for_ring(std::size_t waiting_rings) {
  if (waiting_rings >= most_rings) {
    throw Error::failed("the sender changed its format " + std::to_string(most_rings) + " times without a frame");
  }
}

}  // namespace framewire
