// Caller-supplied memory that pictures are decoded into.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "frame/frame_layout.hpp"

namespace framewire {

/// Places of equal size, supplied by the sender of the pictures. The decoder's threads call take() and released(), also
/// between two reads and after the last one; neither waits. If no place is free, the picture is decoded into libav's
/// own memory.
class PictureMemory {
 public:
  PictureMemory() = default;
  PictureMemory(const PictureMemory&) = delete;
  PictureMemory& operator=(const PictureMemory&) = delete;
  virtual ~PictureMemory() = default;

  /// One place. It stays mapped at the same address until released().
  struct Place {
    std::span<std::byte> bytes;              // aligned to 64 bytes
    std::shared_ptr<PictureMemory> owner{};  // while it is taken
    std::uint32_t number = 0;
  };

  /// A place of at least `size_bytes`, with its owner set; null if none is free.
  virtual Place* take(std::uint64_t size_bytes) noexcept = 0;
  /// The decoder no longer accesses this place. Until then it may read the place, even after the picture was handed
  /// out.
  virtual void released(Place& place) noexcept = 0;
  /// The place that contains `bytes`; null: none.
  [[nodiscard]] virtual const Place* find(const std::byte* bytes) const noexcept = 0;
};

/// A picture in PictureMemory, ready to be sent.
struct PlacedPicture {
  std::uint32_t number = 0;  // of its place
  FrameLayout layout;        // in the place; rows may be padded
};

}  // namespace framewire
