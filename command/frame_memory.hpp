// The memory that a program's frames lie in, as --memory names it.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/log.hpp"
#include "base/system_files.hpp"
#include "command/common_options.hpp"
#include "memory/block.hpp"

namespace framewire {

class CudaMemory;

/// What decides where there are several GPUs and the user names none: the first of these that says one; else CUDA's
/// order.
struct GpuPreferences {
  std::function<std::vector<DeviceUuid>()> drawn_with{};  // which GPUs OpenGL draws with; only asked then
  std::vector<const EndpointOptions*> sessions{};         // the nearest to the RDMA devices that these may use
  SystemFiles files{};
};

/// Host memory, or that of one GPU. Outlives every stream, subscriber and frame of the program.
class FrameMemory {
 public:
  /// Finds the GPU and its driver. Throws Error (failed) if there is no such GPU, or its memory cannot be shared:
  /// frames never silently lie in host memory instead. Passes on what `drawn_with` throws.
  explicit FrameMemory(const MemoryChoice& choice, const GpuPreferences& preferences = {});
  ~FrameMemory();
  FrameMemory(const FrameMemory&) = delete;
  FrameMemory& operator=(const FrameMemory&) = delete;

  [[nodiscard]] const MemoryKind& kind() const noexcept;
  [[nodiscard]] bool is_host() const noexcept { return cuda_ == nullptr; }
  /// For a line of the log: which of several GPUs was taken, and why. "frames lie in the memory of the GPU NVIDIA H200
  /// at 0000:3b:00.0, the nearest to mlx5_0 (by one PCIe switch)". Empty: there was nothing to choose.
  [[nodiscard]] const std::string& note() const noexcept { return note_; }
  /// Logs the note, if there is one.
  void log_note(Log& log) const;

 private:
  std::string note_;
  std::unique_ptr<const CudaMemory> cuda_;  // null: host memory
};

/// The memory of the GPU with this identity, whatever --memory says; null: CUDA has no such GPU. Loads NVIDIA's driver.
/// Any thread. Throws Error (failed) where that is missing, or the GPU's memory cannot be used.
std::unique_ptr<const MemoryKind> memory_of_device(const DeviceUuid& device);

}  // namespace framewire
