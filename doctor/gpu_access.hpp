// By which way an RDMA device would reach a GPU's memory.
#pragma once

#include <cstdint>
#include <string_view>

#include "doctor/facts.hpp"

namespace framewire {

/// In the order in which the rdma link tries them (transport/rdma/device_memory.hpp).
enum class GpuAccess : std::uint8_t {
  data_direct,
  dma_buf,
  peer_memory,  // by nvidia_peermem
  none,
  unknown,  // nobody could ask the RDMA device
};

/// As far as it can be known without memory of the GPU.
GpuAccess access_to(const CudaDeviceInfo& gpu, const RdmaAdapter& adapter, bool has_peermem);
/// "its memory by DMA-BUF", to be used behind "mlx5_0 reaches the GPU: ".
std::string_view describe(GpuAccess access);
/// For JSON: "dma_buf".
std::string_view name(GpuAccess access);

}  // namespace framewire
