#include "command/frame_memory.hpp"

#include <algorithm>
#include <iterator>

#include "base/error.hpp"
#include "command/nearest_gpu.hpp"
#include "memory/cuda/cuda_memory.hpp"
#include "memory/host_block.hpp"

namespace framewire {

namespace {

using Devices = std::vector<CudaDeviceInfo>;

/// Errors of CUDA name the option; those of a window do not.
template <typename Call>
auto named(const Call& call) try {
  return call();
} catch (const Error& error) {
  throw error.with_context("--memory cuda");
}

struct Preferred {
  const CudaDeviceInfo& gpu;
  std::string why;
};

Preferred preferred_of(const Devices& devices, const GpuPreferences& preferences) {
  const std::vector<DeviceUuid> drawn_with =
      preferences.drawn_with ? preferences.drawn_with() : std::vector<DeviceUuid>();
  const auto drawing = std::ranges::find_if(devices, [&](const CudaDeviceInfo& device) {
    return std::ranges::find(drawn_with, device.uuid_bytes) != drawn_with.end();
  });
  if (drawing != devices.end()) {
    return {*drawing, "which OpenGL draws with"};
  }
  std::vector<std::string> addresses;
  std::ranges::transform(devices, std::back_inserter(addresses), &CudaDeviceInfo::pci_address);
  if (const auto nearest = nearest_gpu(addresses, preferences.sessions, preferences.files)) {
    return {devices[nearest->index],
            "the nearest to " + nearest->rdma_device + " (" + std::string(describe(nearest->distance)) + ")"};
  }
  return {devices.front(), "CUDA's first one"};
}

/// `note`: see FrameMemory::note().
std::unique_ptr<const CudaMemory> memory_of_gpu(const MemoryChoice& choice, const GpuPreferences& preferences,
                                                std::string& note) {
  if (!choice.is_cuda) {
    return nullptr;
  }
  const Devices devices = named(cuda_devices);
  if (devices.size() < 2 || !choice.gpu.empty()) {
    return named([&] { return std::make_unique<const CudaMemory>(choose_cuda_device(devices, choice.gpu)); });
  }
  const Preferred taken = preferred_of(devices, preferences);
  note = "frames lie in the memory of the GPU " + taken.gpu.name + " at " + taken.gpu.pci_address + ", " + taken.why;
  return named([&] { return std::make_unique<const CudaMemory>(taken.gpu); });
}

}  // namespace

FrameMemory::FrameMemory(const MemoryChoice& choice, const GpuPreferences& preferences)
    : cuda_(memory_of_gpu(choice, preferences, note_)) {}

FrameMemory::~FrameMemory() = default;

const MemoryKind& FrameMemory::kind() const noexcept {
  return cuda_ ? static_cast<const MemoryKind&>(*cuda_) : host_memory();
}

void FrameMemory::log_note(Log& log) const {
  if (!note_.empty()) {
    log.info(note_);
  }
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
