// The GPUs that CUDA can use, and one of them, chosen.
#pragma once

#include <cstdint>
#include <memory>
#include <new>
#include <string>
#include <string_view>
#include <vector>

#include "memory/cuda/driver.hpp"

namespace framewire {

/// Another GPU of this machine whose memory a GPU reads in place: by NVLink, or by PCI Express.
struct CudaPeer {
  cuda::DeviceNumber number = 0;
  cuda::Uuid uuid_bytes{};
  std::string name;
  std::string pci_address;
};

/// What CUDA says of a GPU.
struct CudaDeviceInfo {
  cuda::DeviceNumber number = 0;
  std::string name;  // "NVIDIA H200"
  cuda::Uuid uuid_bytes{};
  std::string uuid;         // "GPU-01234567-89ab-cdef-0123-456789abcdef", as nvidia-smi writes it
  std::string pci_address;  // "0000:3b:00.0", in small letters, as sysfs writes it
  std::uint64_t memory_bytes = 0;
  /// Its memory can be mapped into other processes, by a descriptor. --memory cuda needs it.
  bool shares_memory = false;
  bool exports_dma_buf = false;
  /// Of drivers: also in the mapping by PCIe that data-direct needs. Whether this machine has it only an export tells.
  bool knows_pcie_mapping = false;
  /// cuMemCreate makes memory for RDMA devices (gpuDirectRDMACapable); and nvidia-peermem can pin it.
  bool makes_gpu_direct_memory = false;
  bool takes_gpu_direct_rdma = false;
  /// The GPU sees what an RDMA device wrote once that device says so; it does after a flush by the program.
  bool orders_rdma_writes = false;
  bool flushes_rdma_writes = false;
  /// It shares page tables with the processor, as one does that is attached to it by NVLink C2C (Grace Hopper). Other
  /// devices then reach it by more than one way, and CUDA's order of writes says nothing of one against another.
  bool shares_page_tables = false;
  /// Those that it reads (cuDeviceCanAccessPeer), of those that CUDA shows to this process.
  std::vector<CudaPeer> peers{};
};

/// All GPUs, in CUDA's order. Throws Error: there is no driver, or it fails.
std::vector<CudaDeviceInfo> cuda_devices();

/// The GPU whose UUID or PCI address `wanted` is; the first one, if it is empty. A UUID may be shortened, as for
/// CUDA_VISIBLE_DEVICES. Letters may be large. Throws Error (failed) that lists the GPUs, if none or several fit.
const CudaDeviceInfo& choose_cuda_device(const std::vector<CudaDeviceInfo>& devices, std::string_view wanted);

/// A GPU with its primary context, which all users in this process share. Any thread.
class CudaDevice {
 public:
  /// Throws Error.
  explicit CudaDevice(CudaDeviceInfo info);
  ~CudaDevice();
  CudaDevice(const CudaDevice&) = delete;
  CudaDevice& operator=(const CudaDevice&) = delete;

  [[nodiscard]] const CudaDeviceInfo& info() const noexcept { return info_; }
  [[nodiscard]] const cuda::Functions& functions() const noexcept { return functions_; }
  [[nodiscard]] cuda::Context context() const noexcept { return context_; }

 private:
  const cuda::Functions& functions_;
  const CudaDeviceInfo info_;
  cuda::Context context_ = nullptr;
};

/// While it lives, the device's context is this thread's current one; then the one before is again.
class CurrentContext {
 public:
  /// Throws Error.
  explicit CurrentContext(const CudaDevice& device);
  /// Where the GPU may be lost: does not throw, and is false then.
  CurrentContext(const CudaDevice& device, std::nothrow_t) noexcept;
  [[nodiscard]] explicit operator bool() const noexcept { return is_current_; }
  ~CurrentContext();
  CurrentContext(const CurrentContext&) = delete;
  CurrentContext& operator=(const CurrentContext&) = delete;

 private:
  const CudaDevice& device_;
  const bool is_current_;
};

}  // namespace framewire
