// In which kind of memory a viewer gets its frames.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "memory/block.hpp"
#include "transport/link.hpp"
#include "transport/session/messages.hpp"

namespace framewire {

/// OfferedStream::memory_device of this kind.
std::string memory_device_of(const MemoryKind& kind);

/// Those of `wanted` that a viewer can take over `link`: where the sender shares its memory, those that import it.
std::vector<const MemoryKind*> kinds_over(LinkKind link, std::span<const MemoryKind* const> wanted,
                                          const OfferedStream& offered);

/// How the device of `chosen` reaches frames that the sender shares over `link`, if they lie on another one. Empty:
/// they do not.
MemoryAccess access_to_shared(LinkKind link, const MemoryKind& chosen, const OfferedStream& offered);

/// Where the sender shares its memory, the frames lie in what it offers, if that is among `kinds`; else the sender
/// shares copies in host memory. Otherwise the first of `kinds` that the link takes and its device reaches, which it
/// tries. On the thread of ReceiverLink::begin_epoch().
const MemoryKind& choose_memory(const ReceiverLink& link, std::span<const MemoryKind* const> kinds,
                                const OfferedStream& offered);

}  // namespace framewire
