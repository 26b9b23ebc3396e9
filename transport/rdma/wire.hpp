// What goes over the rdma link besides payload: header cells, and the immediates that announce slices and return slots.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "frame/frame_header.hpp"
#include "transport/pool.hpp"

namespace framewire {

// ---- The header cells of a ring: the announcing write of every slice puts the frame header into one ----

/// A cell holds a frame header. A payload of at most max_payload_in_cell_bytes follows it in the cell, at header_bytes,
/// so such a slice needs only one write. A longer payload stands in its slot. Both sides decide by the payload's length
/// alone.
inline constexpr std::uint64_t max_payload_in_cell_bytes = 192;
/// Distance between two cells: whole cache lines.
inline constexpr std::uint64_t cell_stride_bytes = 640;
static_assert(cell_stride_bytes >= max_frame_header_bytes + max_payload_in_cell_bytes && cell_stride_bytes % 64 == 0);

/// One cell for every slice of a slot's frame. With few slots it is the most that a header can name. With many slots it
/// is fewer, so that the cells of a ring stay below about 3 MB; at least 16.
constexpr std::uint32_t cells_per_slot_for(std::uint32_t ring_slots) noexcept {
  constexpr std::uint32_t cells_wanted = 4096;
  return std::clamp<std::uint32_t>(cells_wanted / std::max<std::uint32_t>(ring_slots, 1), 16, max_slices);
}

// ---- The immediate ----

/// Sender to viewer: this slice is complete in its cell and slot. Viewer to sender: this slot is free again (slice 0).
struct Immediate {
  static constexpr unsigned epoch_bits = 14;
  static constexpr unsigned slot_bits = 10;
  static constexpr unsigned slice_bits = 8;

  std::uint32_t epoch = 0;  // its low bits: enough for all epochs that can be in flight at once
  std::uint16_t slot = 0;
  std::uint16_t slice = 0;
  bool operator==(const Immediate&) const = default;
};
static_assert(Immediate::epoch_bits + Immediate::slot_bits + Immediate::slice_bits == 32);
static_assert(max_pool_slots <= 1U << Immediate::slot_bits && max_slices <= 1U << Immediate::slice_bits);

constexpr std::uint32_t low_epoch_bits(std::uint32_t epoch) noexcept {
  return epoch & ((1U << Immediate::epoch_bits) - 1);
}

constexpr std::uint32_t encode(const Immediate& immediate) noexcept {
  return low_epoch_bits(immediate.epoch) << (Immediate::slot_bits + Immediate::slice_bits) |
         std::uint32_t{immediate.slot} << Immediate::slice_bits | std::uint32_t{immediate.slice};
}

constexpr Immediate decode_immediate(std::uint32_t bits) noexcept {
  return {.epoch = bits >> (Immediate::slot_bits + Immediate::slice_bits),
          .slot = static_cast<std::uint16_t>(bits >> Immediate::slice_bits & ((1U << Immediate::slot_bits) - 1)),
          .slice = static_cast<std::uint16_t>(bits & ((1U << Immediate::slice_bits) - 1))};
}

}  // namespace framewire
