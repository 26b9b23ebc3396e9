#include "command/frame_memory.hpp"

#include "base/error.hpp"
#include "memory/cuda/cuda_memory.hpp"
#include "memory/host_block.hpp"

namespace framewire {

namespace {

using AskDevices = std::function<std::vector<DeviceUuid>()>;

/// Errors of CUDA name the option; those of a window do not.
template <typename Call>
auto named(const Call& call) try {
  return call();
} catch (const Error& error) {
  throw error.with_context("--memory cuda");
}

std::unique_ptr<const CudaMemory> memory_of_gpu(const MemoryChoice& choice, const AskDevices& drawn_with) {
  if (!choice.is_cuda) {
    return nullptr;
  }
  const std::vector<CudaDeviceInfo> devices = named(cuda_devices);
  const bool asks = choice.gpu.empty() && devices.size() > 1 && drawn_with;
  const std::vector<DeviceUuid> preferred = asks ? drawn_with() : std::vector<DeviceUuid>();
  return named([&] { return std::make_unique<const CudaMemory>(choose_cuda_device(devices, choice.gpu, preferred)); });
}

}  // namespace

FrameMemory::FrameMemory(const MemoryChoice& choice, const AskDevices& drawn_with)
    : cuda_(memory_of_gpu(choice, drawn_with)) {}

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
