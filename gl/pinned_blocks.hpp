// Blocks of host memory as GL buffers, without a copy: GL_AMD_pinned_memory.
#pragma once

#include <array>
#include <cstdint>
#include <memory>

#include "gl/handle.hpp"
#include "memory/host_block.hpp"

namespace framewire {

/// Caches one GL buffer per block. Keeps the block alive as long as its buffer exists, because the GPU may read it.
/// Used on the context's thread.
class PinnedBlocks {
 public:
  PinnedBlocks() noexcept = default;
  PinnedBlocks(const PinnedBlocks&) = delete;
  PinnedBlocks& operator=(const PinnedBlocks&) = delete;
  ~PinnedBlocks() { forget_all(); }

  [[nodiscard]] static bool is_supported() noexcept { return GLAD_GL_AMD_pinned_memory != 0; }

  /// The buffer that wraps `block`, or 0 if the driver refuses (amdgpu does for file-backed memory). The first call for
  /// a block reads some of the `size_bytes` at `offset_bytes` back through GL, and rejects the buffer if the content
  /// differs. Never writes. The block is in host memory. Releases blocks that nobody else holds, and the least recently
  /// used one beyond 4.
  GLuint find_or_wrap(const std::shared_ptr<const Block>& block, std::uint64_t offset_bytes,
                      std::uint64_t size_bytes) noexcept;

  /// Releases all blocks after the GPU has finished.
  void forget_all() noexcept;

 private:
  struct Entry {
    std::shared_ptr<const Block> block;  // before the buffer: the memory must outlive it
    GlBuffer buffer;
    std::uint64_t last_use = 0;
  };

  void forget(Entry& entry) noexcept;
  void forget_unshared() noexcept;

  std::array<Entry, 4> entries_;
  std::uint64_t uses_ = 0;
};

}  // namespace framewire
