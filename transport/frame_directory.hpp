// The part of a pool that viewers read when they pull: the slot of the newest frame, and the frame header of every
// slot. Viewers read it by RDMA READ (docs/wire.md, read mode). No side notifies the other or waits for it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "frame/frame_header.hpp"
#include "memory/host_block.hpp"

namespace framewire {

/// The newest cell: 8 bytes at the start of the frame directory, little-endian. 0: no frame yet.
struct NewestFrame {
  std::uint16_t slot = 0;
  std::uint64_t generation = 0;  // 48 bits: at 10,000 frames a second they last for 900 years
  bool operator==(const NewestFrame&) const = default;
};
inline constexpr std::size_t newest_cell_bytes = 8;
std::optional<NewestFrame> decode_newest(std::span<const std::byte, newest_cell_bytes> cell) noexcept;

/// A slot's cell: 8 bytes of generation, little-endian, then the frame header. Generation 0 means that the slot holds
/// no frame. A pool never uses a generation twice. A reader reads the cell, the payload, and the cell again. If both
/// cells are equal and name a frame, the payload is that frame, complete.
inline constexpr std::size_t directory_generation_bytes = 8;
inline constexpr std::size_t directory_cell_bytes = 448;
static_assert(directory_cell_bytes >= directory_generation_bytes + max_frame_header_bytes &&
              directory_cell_bytes % 64 == 0);
std::uint64_t directory_generation(std::span<const std::byte> cell) noexcept;

/// The offset of a slot's cell. The newest cell has a cache line of its own.
constexpr std::uint64_t directory_cell_offset_bytes(std::uint32_t slot) noexcept {
  return 64 + std::uint64_t{slot} * directory_cell_bytes;
}
constexpr std::uint64_t directory_bytes(std::uint32_t slots) noexcept {
  return directory_cell_offset_bytes(slots);
}

/// The sender's side. Owned by its pool and guarded by the same mutex. The viewers' devices may read it at any time.
class FrameDirectory {
 public:
  /// Throws Error (no memory).
  explicit FrameDirectory(std::uint32_t slots);

  /// Call before writing to the slot: a concurrent reader then detects the overwrite. No later write to the slot
  /// becomes visible before this one.
  void invalidate(std::uint16_t slot) noexcept;
  /// The slot now holds this complete frame, and it is the newest one.
  void publish_cell(std::uint16_t slot, const FrameHeader& header) noexcept;

  [[nodiscard]] const std::shared_ptr<HostBlock>& block() const noexcept { return block_; }

 private:
  std::shared_ptr<HostBlock> block_;
  std::uint64_t generation_ = 0;  // of the newest frame
};

}  // namespace framewire
