#include "command/frame_memory.hpp"

#include "base/error.hpp"
#include "memory/cuda/cuda_memory.hpp"
#include "memory/host_block.hpp"

namespace framewire {

namespace {

std::unique_ptr<const CudaMemory> memory_of_gpu(const MemoryChoice& choice) try {
  return choice.is_cuda ? std::make_unique<const CudaMemory>(choose_cuda_device(cuda_devices(), choice.gpu)) : nullptr;
} catch (const Error& error) {
  throw error.with_context("--memory cuda");
}

}  // namespace

FrameMemory::FrameMemory(const MemoryChoice& choice) : cuda_(memory_of_gpu(choice)) {}

FrameMemory::~FrameMemory() = default;

const MemoryKind& FrameMemory::kind() const noexcept {
  return cuda_ ? static_cast<const MemoryKind&>(*cuda_) : host_memory();
}

std::unique_ptr<const MemoryKind> memory_of_device(const DeviceUuid& device) {
  for (const CudaDeviceInfo& one : cuda_devices()) {
    if (one.uuid_bytes == device) {
      return std::make_unique<const CudaMemory>(one);
    }
  }
  return nullptr;
}

}  // namespace framewire
