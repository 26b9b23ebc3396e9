// An allocation of a GPU's memory, mapped into CUDA's address space of this process.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/file_descriptor.hpp"
#include "memory/cuda/device.hpp"

namespace framewire {

/// How other devices get to a DMA-BUF's memory.
enum class DmaBufMapping {
  any,      // as the driver chooses
  by_pcie,  // through BAR1, also where the GPU is attached to the processor by C2C; only data-direct takes it
};

/// By cuMemCreate or cuMemImportFromShareableHandle. Sizes are multiples of granularity_bytes(). Constant after
/// construction.
class CudaMapping {
 public:
  /// Throws Error.
  static std::uint64_t granularity_bytes(const CudaDevice& device);

  /// New memory, for reading and writing. Throws Error, OutOfMemory if it has no room.
  CudaMapping(const std::shared_ptr<const CudaDevice>& device, std::uint64_t size_bytes);
  /// Another process's memory, for reading; also for writing, if the driver maps it in no other way. Throws Error: also
  /// if it is smaller, no such memory, or of another GPU that is none of CudaDeviceInfo::peers.
  CudaMapping(const std::shared_ptr<const CudaDevice>& device, std::uint64_t size_bytes,
              const FileDescriptor& exported);
  ~CudaMapping();
  CudaMapping(const CudaMapping&) = delete;
  CudaMapping& operator=(const CudaMapping&) = delete;

  [[nodiscard]] cuda::Address address() const noexcept { return address_; }
  /// The other GPU that the memory lies on; null: it lies on this one.
  [[nodiscard]] const CudaPeer* peer() const noexcept { return peer_; }
  /// Why another process's memory is mapped for writing, too; empty: it is not.
  [[nodiscard]] const std::string& why_writable() const noexcept { return why_writable_; }
  /// For another process, or for OpenGL. Throws Error.
  [[nodiscard]] FileDescriptor export_descriptor() const;
  /// For RDMA devices: all of this memory, from its first byte on. Only where CudaDeviceInfo::exports_dma_buf, and
  /// `by_pcie` only where it knows_pcie_mapping. Throws Error.
  [[nodiscard]] FileDescriptor export_dma_buf(DmaBufMapping as) const;

 private:
  /// The handle is released with it, also where a constructor that continues here throws.
  CudaMapping(std::shared_ptr<const CudaDevice> device, std::uint64_t size_bytes, cuda::MemoryHandle handle) noexcept;
  [[nodiscard]] const CudaPeer* find_peer() const;
  void map(cuda::Access access);
  [[nodiscard]] cuda::Result allow(cuda::Access access);

  const std::shared_ptr<const CudaDevice> device_;
  const std::uint64_t size_bytes_;
  const cuda::MemoryHandle handle_;
  const CudaPeer* peer_ = nullptr;  // of device_
  cuda::Address address_ = 0;
  bool is_mapped_ = false;
  std::string why_writable_;
};

}  // namespace framewire
