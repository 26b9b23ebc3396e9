#include "transport/ring_limits.hpp"

#include <string>

#include "base/error.hpp"
#include "base/text.hpp"
#include "frame/frame_layout.hpp"
#include "memory/available_memory.hpp"
#include "transport/pool.hpp"

namespace framewire {

namespace {

constexpr std::size_t max_rings = 64;

}  // namespace

std::string find_ring_fault(const StreamFormat& format, std::uint64_t slot_bytes, std::uint32_t ring_slots) {
  const bool is_picture = format.layout.format != PixelFormat::bytes;
  const std::string asks = "the sender asks for a ring of " + std::to_string(ring_slots) + " slots of " +
                           std::to_string(slot_bytes) + " bytes";
  if (slot_bytes < format.layout.size_bytes || slot_bytes - format.layout.size_bytes > slot_slack_bytes) {
    return asks + ", where a frame of the format it announces has " + std::to_string(format.layout.size_bytes) +
           "; a slot takes one frame and at most " + std::to_string(slot_slack_bytes) + " bytes beside it";
  }
  if (is_picture && ring_slots > max_picture_slots) {
    return asks + ", and a ring of pictures has at most " + std::to_string(max_picture_slots) + " slots";
  }
  if (!is_picture && slot_stride_bytes(slot_bytes) * ring_slots > max_byte_ring_bytes) {
    return asks + ", and a ring of bytes has at most " + format_bytes(max_byte_ring_bytes) +
           " in all; take fewer slots or shorter chunks there";
  }
  return {};
}

void require_possible_ring(std::uint64_t slot_bytes, std::uint32_t ring_slots, std::uint64_t waiting_bytes) {
  const std::string asks = "the sender asks for a ring of " + std::to_string(ring_slots) + " slots of " +
                           std::to_string(slot_bytes) + " bytes";
  if (slot_bytes == 0 || slot_bytes > max_slot_bytes || ring_slots == 0 || ring_slots > max_pool_slots) {
    throw Error::failed(asks + ", which is not possible");
  }
  const std::uint64_t available_bytes = available_memory_bytes();
  const std::uint64_t max_bytes = (available_bytes + waiting_bytes) / 2;
  if (available_bytes != 0 && slot_stride_bytes(slot_bytes) * ring_slots + waiting_bytes > max_bytes) {
    throw Error(waiting_bytes == 0 ? ExitStatus::failed : ExitStatus::lost_peer,
                asks + (waiting_bytes == 0 ? "" : " beside others of " + format_bytes(waiting_bytes)) +
                    ", more than half of the memory that is free here (" + format_bytes(max_bytes) +
                    "); take smaller frames or messages, or fewer slots");
  }
}

void require_room_for_ring(std::size_t waiting_rings) {
  if (waiting_rings >= max_rings) {
    throw Error::failed("the sender changed its format " + std::to_string(max_rings) + " times without a frame");
  }
}

void LivingRings::require_room(std::uint64_t slot_bytes, std::uint32_t ring_slots, const Block* in_use) {
  std::erase_if(rings_, [](const auto& ring) { return ring.expired(); });
  std::uint64_t waiting_bytes = 0;
  std::size_t waiting_rings = 0;
  for (const auto& ring : rings_) {
    if (const auto living = ring.lock(); living != nullptr && living.get() != in_use) {
      waiting_bytes += living->size_bytes();
      ++waiting_rings;
    }
  }
  if (waiting_rings >= max_waiting) {
    throw Error::lost_peer("the sender changed its format " + std::to_string(max_waiting) +
                           " times while this end kept frames of every one");
  }
  require_possible_ring(slot_bytes, ring_slots, waiting_bytes);
}

}  // namespace framewire
