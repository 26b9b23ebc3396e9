// Memory of the GPU between host memory and OpenGL: the GPU copies it to and from host memory, OpenGL has it as a
// buffer.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "gl/wrapped_blocks.hpp"
#include "memory/block.hpp"

namespace framewire {

/// Parts of one size, for as many pictures under way. Used on the context's thread.
class DeviceParts {
 public:
  static constexpr std::size_t count = 3;

  /// `memory` is of the device that draws (WrappedBlocks::why_not()), and outlives this. `purpose` is for messages.
  /// Takes milliseconds, and at most 2 s. Throws Error: the GPU has no room or hangs, or OpenGL refuses the memory.
  DeviceParts(const MemoryKind& memory, const std::string& purpose, std::uint64_t part_bytes);

  [[nodiscard]] const std::shared_ptr<Block>& block() const noexcept { return block_; }
  [[nodiscard]] GLuint buffer() const noexcept { return buffer_; }
  [[nodiscard]] std::uint64_t part_bytes() const noexcept { return part_bytes_; }
  [[nodiscard]] std::uint64_t offset_bytes(std::size_t part) const noexcept { return part * part_bytes_; }

 private:
  const std::uint64_t part_bytes_;
  const std::shared_ptr<Block> block_;
  WrappedBlocks wrapped_;
  const GLuint buffer_;
};

/// Tries both ways with a few bytes: from host memory to OpenGL, and back. Why such copies cannot be used with the
/// current context; nothing if they can. Waits for CUDA, at most 4 s, and for OpenGL.
std::optional<std::string> why_gpu_cannot_copy(const MemoryKind& memory);

}  // namespace framewire
