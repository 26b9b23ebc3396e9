// Memory windows of type 2: binding one, and testing whether a device can, without risk to a session.
#pragma once

#include "transport/rdma/work_requests.hpp"

namespace framewire {

/// The signalled work request that binds a type 2 window over the whole region for remote writes and gives the window
/// its next key.
ibv_send_wr bind_request(ibv_mw& window, const MemoryRegion& memory_region) noexcept;

/// Binds a window over `memory_region`, which has IBV_ACCESS_MW_BIND, and removes it again. The device's own claim is
/// not reliable: bnxt_re and hns_roce have no ibv_alloc_mw whatever they report, and mlx5 binds at most 2 GiB. A bind
/// that fails breaks its QP, so the test uses a QP of its own that is connected to itself and never sends. False also
/// when that QP cannot be created (iWARP). At set-up, any thread; takes milliseconds.
bool can_bind_window(const ConnectedQueuePair& connection, const MemoryRegion& memory_region) noexcept;

/// The same over one page of memory: whether the device can bind windows at all.
bool can_bind_windows(const ConnectedQueuePair& connection) noexcept;

}  // namespace framewire
