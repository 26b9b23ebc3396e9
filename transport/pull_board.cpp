#include "transport/pull_board.hpp"

#include <endian.h>

#include <atomic>
#include <cstring>

namespace framewire {

namespace {

constexpr unsigned generation_shift = 16;

/// One store, never in halves: that a device reads it whole is not promised, and not needed.
void store(std::span<std::byte> place, std::uint64_t value) noexcept {
  std::atomic_ref<std::uint64_t>(*reinterpret_cast<std::uint64_t*>(place.data()))
      .store(htole64(value), std::memory_order_release);
}

std::uint64_t load(std::span<const std::byte> place) noexcept {
  std::uint64_t value = 0;
  std::memcpy(&value, place.data(), sizeof value);
  return le64toh(value);
}

}  // namespace

std::optional<NewestFrame> decode_newest(std::span<const std::byte, newest_cell_bytes> cell) noexcept {
  const std::uint64_t value = load(cell);
  const NewestFrame newest{.slot = static_cast<std::uint16_t>(value), .generation = value >> generation_shift};
  return newest.generation == 0 ? std::nullopt : std::optional(newest);
}

std::uint64_t board_generation(std::span<const std::byte> cell) noexcept {
  return load(cell.first<board_generation_bytes>());
}

PullBoard::PullBoard(std::uint32_t slots)
    : block_(HostBlock::create_private("a board for viewers that pull", board_bytes(slots))) {}

void PullBoard::take_down(std::uint16_t slot) noexcept {
  store(block_->bytes().subspan(board_cell_offset_bytes(slot)), 0);
  // What the source writes next, or has a device write, must not overtake this.
  std::atomic_thread_fence(std::memory_order_seq_cst);
}

void PullBoard::put_up(std::uint16_t slot, const FrameHeader& header) noexcept {
  const std::span<std::byte> cell = block_->bytes().subspan(board_cell_offset_bytes(slot), board_cell_bytes);
  encode(header, cell.subspan(board_generation_bytes));
  ++generation_;
  store(cell, generation_);
  store(block_->bytes(), generation_ << generation_shift | slot);
}

}  // namespace framewire
