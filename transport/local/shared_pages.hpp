// The memory that both sides of a local link share, in addition to the pool. docs/wire.md has a diagram.
//
// The sender owns the cells; the viewer maps them read-only. The viewer owns the acknowledgements; the sender must
// check their content like any input. Neither side waits for the other here, and no lock crosses the process boundary.
// Each side publishes a count, and wakes the other side (wake_socket.hpp) only if that side has announced that it
// sleeps.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "frame/frame_header.hpp"

namespace framewire {

/// Limit of slices in flight, and so of frames; no viewer's quota can be larger.
inline constexpr std::uint32_t local_cell_count = 256;
inline constexpr std::size_t local_cell_bytes = 512;
inline constexpr std::size_t cache_line_bytes = 64;

static_assert(max_frame_header_bytes <= local_cell_bytes);
static_assert(std::atomic<std::uint32_t>::is_always_lock_free && std::atomic<std::uint64_t>::is_always_lock_free);

struct LocalCells {
  alignas(cache_line_bytes) std::atomic<std::uint32_t> published;      // cells written so far, modulo 2^32
  std::atomic<std::uint32_t> withdrawn;                                // not 0: slots of these cells are used again
  alignas(cache_line_bytes) std::atomic<std::uint32_t> credit_wanted;  // wake the sender with the next credit
  alignas(cache_line_bytes) std::array<std::array<std::byte, local_cell_bytes>, local_cell_count> cells;
};

struct LocalAcknowledgements {
  alignas(cache_line_bytes) std::atomic<std::uint32_t> given_back;  // entries written so far, modulo 2^32
  alignas(cache_line_bytes) std::atomic<std::uint32_t> is_waiting;  // the viewer sleeps: wake it with the next cell
  alignas(cache_line_bytes) std::array<std::atomic<std::uint64_t>, local_cell_count> slots;  // epoch << 32 | slot
};

constexpr std::uint64_t pack_slot(std::uint32_t epoch, std::uint16_t slot) noexcept {
  return std::uint64_t{epoch} << 32 | slot;
}

/// The records that carry descriptors over the data socket.
struct LocalHello {
  static constexpr std::uint32_t magic_value = 0x4c4c5746;  // "FWLL"
  std::uint32_t magic = magic_value;
  std::uint32_t version = 2;
};  // descriptors: cells, acknowledgements, the viewer's wake socket

struct LocalPool {
  static constexpr std::uint32_t magic_value = 0x504c5746;  // "FWLP"
  std::uint32_t magic = magic_value;
  std::uint32_t epoch = 0;
  std::uint64_t slot_bytes = 0;
  std::uint64_t stride_bytes = 0;
  std::uint32_t slot_count = 0;
  std::uint32_t reserved = 0;
};  // descriptor: the pool

}  // namespace framewire
