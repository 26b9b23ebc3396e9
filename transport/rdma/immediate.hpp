// The 32-bit immediate that announces a slice or returns a slot.
#pragma once

#include <cstdint>

#include "frame/frame_header.hpp"
#include "transport/pool.hpp"

namespace framewire {

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
