#include "transport/session/memory_choice.hpp"

#include <algorithm>

#include "memory/host_block.hpp"
#include "transport/control/hex.hpp"
#include "transport/link_kinds.hpp"

namespace framewire {

std::string memory_device_of(const MemoryKind& kind) {
  const std::optional<DeviceUuid> uuid = kind.device_uuid();
  return uuid ? to_hex(std::as_bytes(std::span(*uuid))) : std::string();
}

std::vector<const MemoryKind*> kinds_over(LinkKind link, std::span<const MemoryKind* const> wanted,
                                          const OfferedStream& offered) {
  std::vector<const MemoryKind*> kinds(wanted.begin(), wanted.end());
  if (traits(link).shares_memory && !offered.memory_device.empty()) {
    std::erase_if(kinds, [&](const MemoryKind* kind) {
      return kind->device_uuid() && memory_device_of(*kind) != offered.memory_device;
    });
  }
  return kinds;
}

const MemoryKind& choose_memory(const ReceiverLink& link, std::span<const MemoryKind* const> kinds,
                                const OfferedStream& offered) {
  const bool shares_memory = traits(link.kind()).shares_memory;
  const auto chosen = std::ranges::find_if(kinds, [&](const MemoryKind* kind) {
    return !link.access_to(*kind).is_by_copies() && link.takes(*kind) &&
           (!shares_memory || kind->name() == offered.memory);
  });
  return chosen != kinds.end() ? **chosen : host_memory();
}

}  // namespace framewire
