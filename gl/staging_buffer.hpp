// Driver memory that pixels are copied into before they become a texture.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "gl/fence.hpp"
#include "gl/handle.hpp"

namespace framewire {

/// Three persistently mapped buffers used in turn: one can be filled while the GPU still reads another. Used on the
/// context's thread.
class StagingBuffer {
 public:
  /// Returns `size_bytes` of memory, aligned to 64 bytes, writable until release(). Waits until `deadline_ns` for the
  /// GPU to finish with it. Empty at the deadline, or when the driver has no memory. Allocates only when `size_bytes`
  /// grows.
  std::span<std::byte> claim(std::size_t size_bytes, std::int64_t deadline_ns) noexcept;

  /// How the last claim's wait ended. If that is `done` and the claim was empty, the driver has no memory.
  [[nodiscard]] GpuWait waited() const noexcept { return waited_; }

  /// The GL buffer behind the last claim, from its offset 0.
  [[nodiscard]] GLuint buffer() const noexcept { return parts_[current_].buffer.id(); }

  /// Call it after issuing the commands that read the last claim.
  void release() noexcept { parts_[current_].fence = GlFence::insert(); }

 private:
  struct Part {
    GlBuffer buffer;
    std::span<std::byte> bytes;
    GlFence fence;
  };

  static bool grow(Part& part, std::size_t size_bytes) noexcept;

  std::array<Part, 3> parts_;
  std::size_t current_ = 0;
  GpuWait waited_ = GpuWait::done;
};

}  // namespace framewire
