// Whether the GPU copies host memory to where OpenGL reads it, so that the processor need not.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "memory/block.hpp"

namespace framewire {

/// Host memory that is prepared for copies of the GPU as long as this lives, once `is_ready`.
struct PreparedMemory {
  std::shared_ptr<const Block> block;
  std::atomic<bool> is_ready = false;
  std::shared_ptr<const void> keeps;  // MemoryKind::prepare_copies()
};

/// Finds the memory of the GPU that draws, and prepares host memory for its copies: on a thread of its own, because
/// both take long. Until that is done frames are uploaded otherwise. Made, used and destroyed on the context's thread.
class GpuCopies {
 public:
  /// By `memory`, which outlives this.
  explicit GpuCopies(const MemoryKind& memory);
  /// By the memory of the current context's device that `open` finds, on the other thread.
  explicit GpuCopies(OpenDeviceMemory open);
  /// Waits for what the thread does now, at most 1 s: one in a driver that hangs is left alone.
  ~GpuCopies();
  GpuCopies(const GpuCopies&) = delete;
  GpuCopies& operator=(const GpuCopies&) = delete;

  /// The GPU's memory, once it is known and copies were tried with it; else null. Does not wait, except for the trial,
  /// once.
  [[nodiscard]] const MemoryKind* memory();

  /// Begins to prepare the block, unless another user of it did. Null if there will be no copies. Never waits.
  [[nodiscard]] std::shared_ptr<const PreparedMemory> prepare(const std::shared_ptr<const Block>& host);

  /// The caller no longer uses it: what is the last of it ends on the other thread, because that takes long, too.
  void release(std::shared_ptr<const PreparedMemory> prepared);

  /// The GPU does not copy: nobody is to wait for it again. memory() is null from now on.
  void refuse(const std::string& reason);
  /// Why memory() will always be null; nothing as long as it may come.
  [[nodiscard]] std::optional<std::string> why_not() const;

 private:
  struct Shared;

  static void run(Shared& shared) noexcept;
  static void open_memory(Shared& shared) noexcept;

  bool was_tried_ = false;
  const std::shared_ptr<Shared> shared_;  // with the thread
  std::thread thread_;
};

/// Whether copies of the GPU would be better than what the current context has without them: there is no pinned memory,
/// and it can import a device's memory.
[[nodiscard]] bool gains_by_gpu_copies() noexcept;

/// By `memory` if that is of the current context's device (null: it is not); else by what `open` finds (empty:
/// nothing), if that is a gain. Null: there are none. The arguments outlive the result.
std::unique_ptr<GpuCopies> make_gpu_copies(const MemoryKind* memory, const OpenDeviceMemory& open);

/// The memory of one of `devices`; null: there is none. Throws what `open` throws.
std::unique_ptr<const MemoryKind> open_first(const std::vector<DeviceUuid>& devices, const OpenDeviceMemory& open);

}  // namespace framewire
