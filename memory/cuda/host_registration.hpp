// Host memory that CUDA copies to and from without a detour.
#pragma once

#include <memory>
#include <mutex>

#include "memory/cuda/device.hpp"
#include "memory/host_block.hpp"

namespace framewire {

/// A block that is registered with CUDA, which locks its pages: a copy of other memory blocks the thread that starts
/// it. CUDA takes each range once in a process, for all of its GPUs, so all users of a block share this. Any thread.
class CudaHostRegistration {
 public:
  /// Of this block: what another user has, or a new one through `device`, which the first require() makes.
  static std::shared_ptr<CudaHostRegistration> find_or_create(const std::shared_ptr<const CudaDevice>& device,
                                                              std::shared_ptr<const HostBlock> host);

  CudaHostRegistration(std::shared_ptr<const CudaDevice> device, std::shared_ptr<const HostBlock> host) noexcept;
  ~CudaHostRegistration();
  CudaHostRegistration(const CudaHostRegistration&) = delete;
  CudaHostRegistration& operator=(const CudaHostRegistration&) = delete;

  /// Registers the block, unless that is done: it may take a second. The GPU only reads a block that this
  /// process maps read-only. Throws Error: then the next call tries again.
  void require();

  [[nodiscard]] const HostBlock* host() const noexcept { return host_.get(); }

 private:
  const std::shared_ptr<const CudaDevice> device_;
  const std::shared_ptr<const HostBlock> host_;
  std::mutex mutex_;
  bool is_registered_ = false;
};

}  // namespace framewire
