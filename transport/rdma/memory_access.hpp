// Where the peer's memory is, and its keys: what the two ends of an rdma link describe to each other for an epoch.
// docs/wire.md lists the fields.
#pragma once

#include <cstdint>
#include <optional>

#include "transport/link.hpp"

namespace framewire {

/// What the sender needs for writing into the viewer's memory: the addresses of the ring's slots and header cells, and
/// their keys. The viewer sends it on the control channel with `ready`.
struct RingAccess {
  std::uint64_t payload_address = 0;
  std::uint32_t payload_key = 0;
  std::uint64_t cells_address = 0;
  std::uint32_t cells_key = 0;
  std::uint32_t cells_per_slot = 0;
  std::uint32_t receive_depth = 0;  // slices that may be announced and not polled yet
  bool cells_take_payload = true;   // small payloads stand in the cells; false: in the slots, as large ones do
};

/// What a viewer needs for pulling: the addresses of the pool's slots and of its frame directory
/// (transport/frame_directory.hpp), and their keys. The sender sends it on the control channel with the epoch.
struct PoolAccess {
  std::uint64_t payload_address = 0;
  std::uint32_t payload_key = 0;
  std::uint64_t directory_address = 0;
  std::uint32_t directory_key = 0;
  std::uint32_t slots = 0;
};

/// As the peer gets it. May throw std::bad_alloc.
LinkDescription describe(const RingAccess& access);
LinkDescription describe(const PoolAccess& access);

/// What the peer said; nothing when it is not a description of this kind. The numbers are not checked.
std::optional<RingAccess> ring_access_from(const LinkDescription& description) noexcept;
std::optional<PoolAccess> pool_access_from(const LinkDescription& description) noexcept;

}  // namespace framewire
