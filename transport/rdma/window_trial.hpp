// Whether a device opens memory windows, tried where a refusal harms nobody.
#pragma once

#include "transport/rdma/connection.hpp"
#include "transport/rdma/memory_region.hpp"

namespace framewire {

/// Binds a window over `registration`, which has IBV_ACCESS_MW_BIND, and takes it away again. A device's word for it is
/// not enough: bnxt_re and hns_roce have no ibv_alloc_mw whatever they say, and mlx5 binds no more than 2 GiB. A bind
/// that fails takes its queue pair with it, so this is done on one of its own, which is connected to itself and never
/// sends anything. False also where that queue pair cannot be had (iWARP). At set-up, any thread; takes milliseconds.
bool can_bind_window(const RdmaConnection& connection, const MemoryRegion& memory_region) noexcept;

/// The same over a page of memory: whether there are windows at all.
bool can_bind_windows(const RdmaConnection& connection) noexcept;

}  // namespace framewire
