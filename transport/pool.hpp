// The sender's slots: allocated once, handed out by number, counted by reference.
#pragma once

#include <atomic>
#include <cassert>
#include <cstdint>
#include <memory>
#include <numeric>
#include <optional>
#include <span>
#include <vector>

#include "memory/host_block.hpp"
#include "transport/frame_directory.hpp"

namespace framewire {

inline constexpr std::uint32_t max_pool_slots = 1024;

/// Distance between slot starts, in pools and rings: whole pages.
constexpr std::uint64_t slot_stride_bytes(std::uint64_t slot_bytes) noexcept {
  constexpr std::uint64_t page_bytes = 4096;
  return (slot_bytes + page_bytes - 1) / page_bytes * page_bytes;
}

inline constexpr std::uint32_t max_stream_viewers = 64;

/// Slots of a sender's pool: a quota for every viewer, plus four for the source: two frames in work, the newest waiting
/// one, and one to claim.
constexpr std::uint32_t pool_slots_for(std::uint32_t viewers, std::uint32_t slots_per_viewer) noexcept {
  constexpr std::uint32_t slots_for_source = 4;
  return viewers * slots_per_viewer + slots_for_source;
}

/// The most slots that a source may have beyond these (Stream::begin_epoch()): for a decoder's pictures, frames that it
/// keeps, or threads that fill several at once.
inline constexpr std::uint32_t max_extra_slots = 24;

/// The numbers of `slots` free slots, to be taken from the back: the first one first.
[[nodiscard]] inline std::vector<std::uint16_t> all_free(std::uint32_t slots) {
  std::vector<std::uint16_t> numbers(slots);
  std::iota(numbers.rbegin(), numbers.rend(), std::uint16_t{0});
  return numbers;
}

struct PoolSlot {
  std::uint32_t epoch = 0;
  std::uint16_t index = 0;
  bool operator==(const PoolSlot&) const = default;
};

/// The slots of one epoch, equal in size, in one block of any kind of memory. Slots that the processor may not touch
/// have a copy each in host memory, for links that need one. The memory is constant; the counts are guarded by the
/// mutex of the stream that owns the pool (transport/stream.cpp): Pool itself does not lock. Only end_kept() needs no
/// mutex: programs that keep no slot after they have published it end that reference at once, for each frame.
class Pool {
 public:
  /// Throws Error when there is not enough memory, and AllocationStopped when `stop` returns true during the
  /// allocation. Slots start on page boundaries. `has_directory`: viewers may pull. `memory` outlives the pool.
  Pool(std::uint32_t epoch, std::uint64_t slot_bytes, std::uint32_t slot_count, bool has_directory = false,
       const StopCheck& stop = {}, const MemoryKind& memory = host_memory());
  /// The same, but returns null instead of throwing AllocationStopped.
  static std::shared_ptr<Pool> make(std::uint32_t epoch, std::uint64_t slot_bytes, std::uint32_t slot_count,
                                    bool has_directory, const StopCheck& stop, const MemoryKind& memory);

  [[nodiscard]] std::uint32_t epoch() const noexcept { return epoch_; }
  [[nodiscard]] std::uint64_t slot_bytes() const noexcept { return slot_bytes_; }
  [[nodiscard]] std::uint64_t stride_bytes() const noexcept { return stride_bytes_; }
  [[nodiscard]] std::uint32_t slot_count() const noexcept { return static_cast<std::uint32_t>(references_.size()); }
  [[nodiscard]] const std::shared_ptr<Block>& block() const noexcept { return block_; }
  [[nodiscard]] bool is_on_host() const noexcept { return block_ == host_block_; }
  /// The block itself, or that of the copies.
  [[nodiscard]] const std::shared_ptr<HostBlock>& host_block() const noexcept { return host_block_; }
  /// Of the block itself, or of the copies.
  [[nodiscard]] std::span<std::byte> slot(std::uint16_t index) const noexcept {
    return host_block_->bytes().subspan(index * stride_bytes_, slot_bytes_);
  }
  /// The first `size_bytes` of a slot, or of its copy in host memory.
  [[nodiscard]] Payload payload(std::uint16_t index, std::uint64_t size_bytes) const noexcept {
    return {block_.get(), index * stride_bytes_, size_bytes};
  }
  [[nodiscard]] Payload host_payload(std::uint16_t index, std::uint64_t size_bytes) const noexcept {
    return {host_block_.get(), index * stride_bytes_, size_bytes};
  }

  /// Null when viewers may not pull.
  [[nodiscard]] const FrameDirectory* directory() const noexcept { return directory_ ? &*directory_ : nullptr; }

  /// Takes a free slot with one reference; nullopt when there is none. Without a frame directory it takes the slot that
  /// was freed last, which is most likely in the caches. With one it takes the slot that has been free longest, and
  /// invalidates its cell.
  std::optional<std::uint16_t> claim() noexcept;
  /// With a frame directory: a claimed slot now holds the newest frame. The directory holds a reference to it until the
  /// next publish_cell() or retire_newest().
  void publish_cell(std::uint16_t index, const FrameHeader& header) noexcept;
  void retire_newest() noexcept;
  void add_reference(std::uint16_t index) noexcept { ++references_[index]; }
  /// Whether the slot is free now.
  bool release(std::uint16_t index) noexcept {
    assert(index < references_.size() && references_[index] > 0);
    if (--references_[index] > 0 ||
        (kept_[index].load(std::memory_order_relaxed) != Kept::no && !end_kept_by_others(index))) {
      return false;
    }
    free_.push_back(index);
    return true;
  }
  /// A reference becomes the source's, which it ends without the mutex: at most one for each slot.
  void keep(std::uint16_t index) noexcept {
    assert(index < references_.size() && references_[index] > 0);
    const bool is_shared = --references_[index] > 0;
    kept_[index].store(is_shared ? Kept::shared : Kept::alone, std::memory_order_relaxed);
  }
  /// Without the mutex. True: nobody else has the slot, and free_kept() frees it, under the mutex.
  [[nodiscard]] bool end_kept(std::uint16_t index) noexcept {
    Kept kept = Kept::shared;
    return !kept_[index].compare_exchange_strong(kept, Kept::left, std::memory_order_acq_rel);
  }
  void free_kept(std::uint16_t index) noexcept;
  [[nodiscard]] std::uint32_t free_count() const noexcept { return static_cast<std::uint32_t>(free_.size()); }

 private:
  /// Who has a slot that the source keeps, or has kept.
  enum class Kept : std::uint8_t {
    no,
    shared,  // the source, and others by references
    alone,   // the source
    left,    // others by references: the source has ended its own
  };

  bool end_kept_by_others(std::uint16_t index) noexcept;

  std::uint32_t epoch_;
  std::uint64_t slot_bytes_;
  std::uint64_t stride_bytes_;
  std::shared_ptr<Block> block_;
  std::shared_ptr<HostBlock> host_block_;
  std::vector<std::uint32_t> references_;
  std::vector<std::atomic<Kept>> kept_;
  std::vector<std::uint16_t> free_;  // has room for slot_count, so it never reallocates; the longest free first
  std::optional<FrameDirectory> directory_;
  std::optional<std::uint16_t> newest_;  // named by the frame directory, which holds a reference
};

}  // namespace framewire
