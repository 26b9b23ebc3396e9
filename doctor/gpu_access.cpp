#include "doctor/gpu_access.hpp"

namespace framewire {

GpuAccess access_to(const CudaDeviceInfo& gpu, const RdmaAdapter& adapter, bool has_peermem) {
  if (!adapter.device) {
    return GpuAccess::unknown;
  }
  if (gpu.knows_pcie_mapping && !adapter.device->data_direct.path.empty()) {
    return GpuAccess::data_direct;
  }
  const std::optional<bool>& takes_dma_buf = adapter.device->takes_dma_buf;
  if (gpu.exports_dma_buf && takes_dma_buf == true) {
    return GpuAccess::dma_buf;
  }
  // A software device reads memory by the processor, to which the module does not help it.
  if (adapter.pci && gpu.takes_gpu_direct_rdma && has_peermem) {
    return GpuAccess::peer_memory;
  }
  return gpu.exports_dma_buf && !takes_dma_buf ? GpuAccess::unknown : GpuAccess::none;
}

std::string_view describe(GpuAccess access) {
  switch (access) {
    case GpuAccess::data_direct:
      return "its memory by data-direct";
    case GpuAccess::dma_buf:
      return "its memory by DMA-BUF";
    case GpuAccess::peer_memory:
      return "its memory by nvidia_peermem";
    case GpuAccess::none:
      return "not its memory";
    case GpuAccess::unknown:
      break;
  }
  return "whether its memory, too, is not known";
}

std::string_view name(GpuAccess access) {
  switch (access) {
    case GpuAccess::data_direct:
      return "data_direct";
    case GpuAccess::dma_buf:
      return "dma_buf";
    case GpuAccess::peer_memory:
      return "peer_memory";
    case GpuAccess::none:
      return "none";
    case GpuAccess::unknown:
      break;
  }
  return "unknown";
}

}  // namespace framewire
