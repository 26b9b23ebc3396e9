// Caller-supplied memory that pictures are decoded into.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "frame/frame_layout.hpp"

namespace framewire {

/// Buffers of equal size, supplied by the sender of the pictures. The decoder's threads call take() and released(),
/// also between two reads and after the last one; neither waits. If no buffer is free, the picture is decoded into
/// libav's own memory.
class PictureMemory {
 public:
  PictureMemory() = default;
  PictureMemory(const PictureMemory&) = delete;
  PictureMemory& operator=(const PictureMemory&) = delete;
  virtual ~PictureMemory() = default;

  /// One buffer. It stays mapped at the same address until released().
  struct Buffer {
    std::span<std::byte> bytes;              // aligned to 64 bytes
    std::shared_ptr<PictureMemory> owner{};  // while it is taken
    std::uint32_t number = 0;
  };

  /// A buffer of at least `size_bytes`, with its owner set; null if none is free.
  virtual Buffer* take(std::uint64_t size_bytes) noexcept = 0;
  /// The decoder no longer accesses this buffer. Until then it may read the buffer, even after the picture was handed
  /// out.
  virtual void released(Buffer& buffer) noexcept = 0;
  /// The buffer that contains `bytes`; null: none.
  [[nodiscard]] virtual const Buffer* find(const std::byte* bytes) const noexcept = 0;
};

/// A picture in PictureMemory, ready to be sent.
struct PlacedPicture {
  std::uint32_t number = 0;  // of its buffer
  FrameLayout layout;        // in the buffer; rows may be padded
};

}  // namespace framewire
