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
  DeviceUuid device{};
  if (traits(link).shares_memory && read_hex(offered.memory_device, std::as_writable_bytes(std::span(device)))) {
    std::erase_if(kinds, [&](const MemoryKind* kind) { return kind->device_uuid() && !kind->imports_from(device); });
  }
  return kinds;
}

MemoryAccess access_to_shared(LinkKind link, const MemoryKind& chosen, const OfferedStream& offered) {
  const bool is_elsewhere = traits(link).shares_memory && chosen.device_uuid() && !offered.memory_device.empty() &&
                            memory_device_of(chosen) != offered.memory_device;
  return {.way = is_elsewhere ? "peer-access" : "", .passed_over = {}};
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
