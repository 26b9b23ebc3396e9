// Blocks of memory as GL buffers, without a copy: host memory by GL_AMD_pinned_memory, that of GL's own device by
// GL_EXT_memory_object_fd.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "gl/handle.hpp"
#include "memory/host_block.hpp"

namespace framewire {

/// Caches one GL buffer per block. Keeps the block alive as long as its buffer exists, because the GPU may read it.
/// Used on the context's thread.
class WrappedBlocks {
 public:
  WrappedBlocks() noexcept = default;
  WrappedBlocks(const WrappedBlocks&) = delete;
  WrappedBlocks& operator=(const WrappedBlocks&) = delete;
  ~WrappedBlocks() { forget_all(); }

  /// Whether the driver wraps host memory. It may refuse some (amdgpu does for file-backed memory).
  [[nodiscard]] static bool takes_host_memory() noexcept { return GLAD_GL_AMD_pinned_memory != 0; }
  /// Why the current context cannot wrap blocks of this kind; nothing if it can. Not for host memory.
  [[nodiscard]] static std::optional<std::string> why_not(const MemoryKind& kind);

  /// The buffer that wraps `block`, or 0 if the driver refuses. The first call for a block in host memory reads some of
  /// the `size_bytes` at `offset_bytes` back through GL, and rejects the buffer if the content differs. Never writes.
  /// Releases blocks that nobody else holds, and the least recently used one beyond 4.
  GLuint find_or_wrap(const std::shared_ptr<const Block>& block, std::uint64_t offset_bytes,
                      std::uint64_t size_bytes) noexcept;

  /// Why find_or_wrap() has last returned 0 for a block that is not in host memory; empty: it never has.
  [[nodiscard]] const std::string& refusal() const noexcept { return refusal_; }

  /// Releases all blocks after the GPU has finished.
  void forget_all() noexcept;

 private:
  struct Entry {
    std::shared_ptr<const Block> block;  // before the others: the memory must outlive them
    GlMemoryObject memory;               // of a block that is not in host memory
    GlBuffer buffer;
    std::uint64_t last_use = 0;
  };

  Entry wrap(const std::shared_ptr<const Block>& block, std::uint64_t offset_bytes, std::uint64_t size_bytes) noexcept;
  void forget(Entry& entry) noexcept;
  void forget_unshared() noexcept;

  std::array<Entry, 4> entries_;
  std::uint64_t uses_ = 0;
  std::string refusal_;
};

}  // namespace framewire
