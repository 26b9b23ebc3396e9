// What a sender tells viewers that pull: which slot of a pool holds the newest frame, and the frame header of every
// slot. They read it from afar (docs/wire.md, read mode); nobody tells them, and nobody waits for them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "frame/frame_header.hpp"
#include "memory/host_block.hpp"

namespace framewire {

/// The newest cell: 8 bytes at the beginning of the frame directory, little-endian. 0: there is no frame yet.
struct NewestFrame {
  std::uint16_t slot = 0;
  std::uint64_t generation = 0;  // 48 bits: at 10,000 frames a second they last for 900 years
  bool operator==(const NewestFrame&) const = default;
};
inline constexpr std::size_t newest_cell_bytes = 8;
std::optional<NewestFrame> decode_newest(std::span<const std::byte, newest_cell_bytes> cell) noexcept;

/// A slot's cell: the generation of the frame that stands in the slot, little-endian in 8 bytes, 0 while there is none,
/// then its frame header. A generation is never used twice in a pool: where a cell read before a payload and the same
/// cell read after it are equal, and name a frame, the payload between them is that frame, whole.
inline constexpr std::size_t directory_generation_bytes = 8;
inline constexpr std::size_t directory_cell_bytes = 448;
static_assert(directory_cell_bytes >= directory_generation_bytes + max_frame_header_bytes &&
              directory_cell_bytes % 64 == 0);
std::uint64_t directory_generation(std::span<const std::byte> cell) noexcept;

/// Where a slot's cell stands. The newest cell has a cache line of its own.
constexpr std::uint64_t directory_cell_offset_bytes(std::uint32_t slot) noexcept {
  return 64 + std::uint64_t{slot} * directory_cell_bytes;
}
constexpr std::uint64_t directory_bytes(std::uint32_t slots) noexcept {
  return directory_cell_offset_bytes(slots);
}

/// The sender's side. Belongs to its pool and is guarded as that is; devices of viewers read it at any time.
class FrameDirectory {
 public:
  /// Throws Error (no memory).
  explicit FrameDirectory(std::uint32_t slots);

  /// The slot is about to be written: whoever reads it now will know. Nothing written to the slot after this call is
  /// visible before it.
  void invalidate(std::uint16_t slot) noexcept;
  /// The slot holds this frame, whole, and it is the newest one.
  void publish_cell(std::uint16_t slot, const FrameHeader& header) noexcept;

  [[nodiscard]] const std::shared_ptr<HostBlock>& block() const noexcept { return block_; }

 private:
  std::shared_ptr<HostBlock> block_;
  std::uint64_t generation_ = 0;  // of the newest frame
};

}  // namespace framewire
