// Memory of the driver's to copy pixels into before they become a texture.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "gl/fence.hpp"
#include "gl/handle.hpp"

namespace framewire {

/// Three persistently mapped buffers that take turns, so that one can be filled while the GPU still reads another. The
/// context's thread.
class StagingBuffer {
 public:
  /// Memory for `size_bytes`, aligned to 64 bytes, free to be written until release(). Waits for the GPU to be done
  /// with it until `deadline_ns`. Empty at the deadline, or when the driver has no memory. Allocates only when
  /// `size_bytes` grows.
  std::span<std::byte> claim(std::size_t size_bytes, std::int64_t deadline_ns) noexcept;

  /// The GL buffer behind the last claim, from its offset 0.
  [[nodiscard]] GLuint buffer() const noexcept { return parts_[current_].buffer.id(); }

  /// The commands that read the last claim have been given.
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
};

}  // namespace framewire
