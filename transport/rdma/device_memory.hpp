// Registering the memory of a GPU, or of another device, with an RDMA device.
#pragma once

#include <cstdint>
#include <string>

#include "memory/block.hpp"
#include "transport/rdma/verbs.hpp"

namespace framewire {

struct DeviceRegistration {
  VerbsPtr<ibv_mr> mr;
  std::string reached;  // for messages: "the memory of the GPU NVIDIA H200 by DMA-BUF"
};

/// Registers `size_bytes` at as.address: by its DMA-BUF, and where that fails by the address that a module of the
/// memory's maker has the kernel pin. `access`: ibv_access_flags, without IBV_ACCESS_MW_BIND, which a DMA-BUF does not
/// take. Drops IBV_ACCESS_RELAXED_ORDERING: nobody promises that what such writes leave behind is in a device's memory
/// when their completion is in the host's. Only for RegisteredAs with a device. Any thread; takes milliseconds. Throws
/// Error (failed) that says why each way failed.
DeviceRegistration register_device_memory(ibv_pd& protection_domain, const RegisteredAs& as, std::uint64_t size_bytes,
                                          unsigned access);

}  // namespace framewire
