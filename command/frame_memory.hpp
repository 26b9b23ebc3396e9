// The memory that a program's frames lie in, as --memory names it.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "command/common_options.hpp"
#include "memory/block.hpp"

namespace framewire {

class CudaMemory;

/// Host memory, or that of one GPU. Outlives every stream, subscriber and frame of the program.
class FrameMemory {
 public:
  /// Finds the GPU and its driver. Where there are several and `choice` names none, `drawn_with` is asked which OpenGL
  /// draws with: one of these, if CUDA has it, else the first. Throws Error (failed) if there is no such GPU, or its
  /// memory cannot be shared: frames never silently lie in host memory instead. Passes on what `drawn_with` throws.
  explicit FrameMemory(const MemoryChoice& choice, const std::function<std::vector<DeviceUuid>()>& drawn_with = {});
  ~FrameMemory();
  FrameMemory(const FrameMemory&) = delete;
  FrameMemory& operator=(const FrameMemory&) = delete;

  [[nodiscard]] const MemoryKind& kind() const noexcept;
  [[nodiscard]] bool is_host() const noexcept { return cuda_ == nullptr; }

 private:
  std::unique_ptr<const CudaMemory> cuda_;  // null: host memory
};

/// The memory of the GPU with this identity, whatever --memory says; null: CUDA has no such GPU. Loads NVIDIA's driver.
/// Any thread. Throws Error (failed) where that is missing, or the GPU's memory cannot be used.
std::unique_ptr<const MemoryKind> memory_of_device(const DeviceUuid& device);

}  // namespace framewire
