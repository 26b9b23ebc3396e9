// Whether an RDMA device really writes into a device's memory, before a peer is told to.
#pragma once

#include <string>

#include "transport/rdma/work_requests.hpp"

namespace framewire {

/// Has the RDMA device write a pattern to the beginning of the region, and the memory's own device copy it to host
/// memory. A registration that succeeds does not prove that: an IOMMU or a bridge on the way between two devices may
/// drop or divert what one writes. The region allows remote writes, and lies in the connection's PD. At set-up, any
/// thread; takes milliseconds, and at most 6 s.
///
/// Returns why the pattern does not arrive: "what a trial wrote did not arrive". The memory may then be reached if it
/// is registered in another way. Empty: it arrives. Throws Error (failed) where no other way would help, because the
/// memory's own device fails, or the RDMA device has no queue pair to itself; AllocationStopped if `stop` cancels it.
[[nodiscard]] std::string try_writing(const ConnectedQueuePair& connection, const MemoryRegion& memory_region,
                                      const StopCheck& stop);

}  // namespace framewire
