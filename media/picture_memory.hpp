// Memory of somebody else's that pictures are decoded into.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "frame/frame_layout.hpp"

namespace framewire {

/// Places of equal size, from whoever sends the pictures on. take() and let_go() are called by the decoder's threads,
/// also between two reads and after the last one; neither waits. A picture that finds no place is decoded into libav's
/// own memory.
class PictureMemory {
 public:
  PictureMemory() = default;
  PictureMemory(const PictureMemory&) = delete;
  PictureMemory& operator=(const PictureMemory&) = delete;
  virtual ~PictureMemory() = default;

  /// One place. It stays as it is, mapped, until let_go().
  struct Place {
    std::span<std::byte> bytes;              // from a multiple of 64 on
    std::shared_ptr<PictureMemory> owner{};  // while it is taken
    std::uint32_t number = 0;
  };

  /// A place of `size_bytes` at least, with its owner set; none is free: null.
  virtual Place* take(std::uint64_t size_bytes) noexcept = 0;
  /// The decoder neither writes nor reads this place any more. Until then it may read it, whoever has got the picture.
  virtual void released(Place& place) noexcept = 0;
  /// The place in which these bytes lie. Null: none.
  [[nodiscard]] virtual const Place* find(const std::byte* bytes) const noexcept = 0;
};

/// A picture that lies in PictureMemory as it is to be sent.
struct PlacedPicture {
  std::uint32_t number = 0;  // of its place
  FrameLayout layout;        // in the place; rows may be padded
};

}  // namespace framewire
