// Registering the memory of a GPU, or of another device, with an RDMA device.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "memory/block.hpp"
#include "transport/link.hpp"
#include "transport/rdma/verbs.hpp"
#include "transport/rdma/work_requests.hpp"

namespace framewire {

struct DeviceRegistration {
  VerbsPtr<ibv_mr> mr;
  std::string reached;  // for messages: "the memory of the GPU NVIDIA H200 by DMA-BUF"
  MemoryAccess access;
  bool needs_read_back = false;  // as RegisteredAs::needs_read_back; always by data-direct
};

/// Registers `size_bytes` at as.address by the first way that works and is not closed: data-direct, where the RDMA
/// device has it; a DMA-BUF; the address, which a module of the memory's maker has the kernel pin. `access`:
/// ibv_access_flags, without IBV_ACCESS_MW_BIND, which a DMA-BUF does not take. What needs_read_back allows remote
/// reads, too, if it allows remote writes. Drops IBV_ACCESS_RELAXED_ORDERING: nobody promises that what such writes
/// leave behind is in a device's memory when their completion is in the host's. Only for RegisteredAs with a device.
/// Any thread; takes milliseconds. Throws Error (failed) that says why each way failed.
DeviceRegistration register_device_memory(ibv_pd& protection_domain, const RegisteredAs& as, std::uint64_t size_bytes,
                                          unsigned access, const ClosedWays& closed_ways);

/// LinkEnd::access_to() of a link in this protection domain that has had no epoch. Empty for host memory, and where a
/// little of `memory` cannot be had.
MemoryAccess try_access(const std::shared_ptr<ibv_pd>& protection_domain, const MemoryKind& memory);

}  // namespace framewire
