#include "transport/frame_directory.hpp"

#include <endian.h>

#include <atomic>
#include <cstring>

namespace framewire {

namespace {

constexpr unsigned generation_shift = 16;

/// One store, so the CPU never writes it in halves. A device may still read it in halves; readers tolerate that.
void store(std::span<std::byte> place, std::uint64_t value) noexcept {
  std::atomic_ref<std::uint64_t>(*reinterpret_cast<std::uint64_t*>(place.data()))
      .store(htole64(value), std::memory_order_release);
}

/// Orders all earlier writes before all later ones, as seen by a device. On Arm, the fences of C++ reach only other
/// processors.
void order_for_devices() noexcept {
  std::atomic_thread_fence(std::memory_order_seq_cst);
#if defined(__aarch64__)
  asm volatile("dmb osh" ::: "memory");
#endif
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

std::uint64_t directory_generation(std::span<const std::byte> cell) noexcept {
  return load(cell.first<directory_generation_bytes>());
}

FrameDirectory::FrameDirectory(std::uint32_t slots)
    : block_(HostBlock::create_private("a frame directory for viewers that pull", directory_bytes(slots))) {}

void FrameDirectory::invalidate(std::uint16_t slot) noexcept {
  store(block_->bytes().subspan(directory_cell_offset_bytes(slot)), 0);
  order_for_devices();  // later writes of the source must not overtake this
}

void FrameDirectory::publish_cell(std::uint16_t slot, const FrameHeader& header) noexcept {
  const std::span<std::byte> cell = block_->bytes().subspan(directory_cell_offset_bytes(slot), directory_cell_bytes);
  encode(header, cell.subspan(directory_generation_bytes));
  ++generation_;
  order_for_devices();
  store(cell, generation_);
  order_for_devices();
  store(block_->bytes(), generation_ << generation_shift | slot);
}

}  // namespace framewire
