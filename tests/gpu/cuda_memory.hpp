// Memory of a CUDA device that processes pass to each other as descriptors.
#pragma once

#include <cstddef>
#include <span>

#include "base/file_descriptor.hpp"
#include "tests/gpu/cuda_driver.hpp"

namespace framewire {

/// Memory by cuMemCreate, mapped into this process. It outlives no CudaDriver, and is used by that one's thread.
class ProbedMemory {
 public:
  /// Whether network devices may be given it, too (gpuDirectRDMACapable).
  enum class Use { gpu, gpu_and_rdma };
  /// CUmemAccess_flags.
  enum class Access : int { read = 1, read_write = 3 };

  /// Sizes of memory are multiples of this. Throws Error.
  static std::size_t granularity_bytes(const CudaDriver& cuda, Use use);
  /// The least size that has room for so many bytes. Throws Error.
  static std::size_t size_for(const CudaDriver& cuda, std::size_t bytes, Use use);

  /// Allocates memory, and maps it for reading and writing. Throws Error.
  ProbedMemory(const CudaDriver& cuda, std::size_t size_bytes, Use use);
  /// Maps another process's memory. Throws Error.
  ProbedMemory(const CudaDriver& cuda, std::size_t size_bytes, const FileDescriptor& exported, Access access);

  ProbedMemory(const ProbedMemory&) = delete;
  ProbedMemory& operator=(const ProbedMemory&) = delete;
  ProbedMemory(ProbedMemory&&) = delete;
  ProbedMemory& operator=(ProbedMemory&&) = delete;
  ~ProbedMemory();

  /// A descriptor of this memory for another process, or for OpenGL. Throws Error.
  [[nodiscard]] FileDescriptor export_descriptor() const;

  [[nodiscard]] CudaAddress address() const noexcept { return address_; }
  [[nodiscard]] std::size_t size_bytes() const noexcept { return size_bytes_; }

 private:
  ProbedMemory(const CudaDriver& cuda, std::size_t size_bytes) noexcept : cuda_(cuda), size_bytes_(size_bytes) {}
  void map(Access access);

  const CudaDriver& cuda_;
  std::size_t size_bytes_;
  std::uint64_t handle_ = 0;
  CudaAddress address_ = 0;
  bool is_mapped_ = false;
};

/// Memory by cuMemAlloc. It outlives no CudaDriver, and is used by that one's thread.
class CudaAllocation {
 public:
  /// Throws Error.
  CudaAllocation(const CudaDriver& cuda, std::size_t size_bytes) : cuda_(cuda) {
    cuda_.call("cuMemAlloc_v2", &address_, size_bytes);
  }
  CudaAllocation(const CudaAllocation&) = delete;
  CudaAllocation& operator=(const CudaAllocation&) = delete;
  CudaAllocation(CudaAllocation&&) = delete;
  CudaAllocation& operator=(CudaAllocation&&) = delete;
  ~CudaAllocation() { cuda_.release("cuMemFree_v2", address_); }

  [[nodiscard]] CudaAddress address() const noexcept { return address_; }

 private:
  const CudaDriver& cuda_;
  CudaAddress address_ = 0;
};

/// While it is there, host memory is registered with CUDA, which then copies without a detour. Used as CudaAllocation.
class CudaRegistration {
 public:
  /// `flags`: those of cuMemHostRegister. Throws Error.
  CudaRegistration(const CudaDriver& cuda, std::span<std::byte> memory, unsigned flags)
      : cuda_(cuda), address_(memory.data()) {
    cuda_.call("cuMemHostRegister_v2", address_, memory.size(), flags);
  }
  CudaRegistration(const CudaRegistration&) = delete;
  CudaRegistration& operator=(const CudaRegistration&) = delete;
  CudaRegistration(CudaRegistration&&) = delete;
  CudaRegistration& operator=(CudaRegistration&&) = delete;
  ~CudaRegistration() { cuda_.release("cuMemHostUnregister", address_); }

 private:
  const CudaDriver& cuda_;
  void* address_;
};

}  // namespace framewire
