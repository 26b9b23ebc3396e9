// Slots in the hands of a source: claimed, which it fills, or kept, which it has published and still reads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>

#include "frame/frame_layout.hpp"
#include "transport/pool.hpp"

namespace framewire {

class Stream;

/// The common part of both. Move-only. Any thread, one at a time. The stream outlives it.
class SourceSlot {
 public:
  SourceSlot(SourceSlot&& other) noexcept
      : stream_(std::exchange(other.stream_, nullptr)),
        pool_(std::move(other.pool_)),
        format_(other.format_),
        index_(other.index_),
        sequence_(other.sequence_),
        completed_ns_(other.completed_ns_) {}
  /// Swaps: `other` returns the slot that this had.
  SourceSlot& operator=(SourceSlot&& other) noexcept {
    std::swap(stream_, other.stream_);
    std::swap(pool_, other.pool_);
    std::swap(format_, other.format_);
    std::swap(index_, other.index_);
    std::swap(sequence_, other.sequence_);
    std::swap(completed_ns_, other.completed_ns_);
    return *this;
  }
  SourceSlot(const SourceSlot&) = delete;

  /// The block that holds the slot, and the slot's offset in it. A device that fills or reads the slot needs both.
  [[nodiscard]] const std::shared_ptr<Block>& block() const noexcept { return pool_->block(); }
  [[nodiscard]] std::uint64_t offset_in_block_bytes() const noexcept { return index_ * pool_->stride_bytes(); }
  /// Its number in the epoch's pool. Slots of other epochs have the same.
  [[nodiscard]] std::uint16_t index() const noexcept { return index_; }
  /// The number of the epoch that it belongs to.
  [[nodiscard]] std::uint32_t pool_epoch() const noexcept { return pool_->epoch(); }
  /// The format of that epoch.
  [[nodiscard]] const StreamFormat& format() const noexcept { return *format_; }
  /// What holds bytes(), at the same offset: block() itself, or a copy of it in host memory.
  [[nodiscard]] const std::shared_ptr<HostBlock>& host_block() const noexcept { return pool_->host_block(); }

 protected:
  SourceSlot(Stream& stream, std::shared_ptr<Pool> pool, const StreamFormat& format, std::uint16_t index) noexcept
      : stream_(&stream), pool_(std::move(pool)), format_(&format), index_(index) {}
  ~SourceSlot() = default;
  [[nodiscard]] PoolSlot pool_slot() const noexcept { return {pool_->epoch(), index_}; }

  friend class Stream;
  Stream* stream_;  // null after a move
  std::shared_ptr<Pool> pool_;
  const StreamFormat* format_;  // the stream has it as long as a slot of the epoch is in use
  std::uint16_t index_;
  std::uint64_t sequence_ = 0;     // of the frame, once it is published
  std::int64_t completed_ns_ = 0;  // the same
};

/// A slot that the source fills. Destroying it returns the slot to the pool. One that was published in place is
/// read-only from then on, and kept until it is destroyed.
class ClaimedSlot : public SourceSlot {
 public:
  ClaimedSlot(ClaimedSlot&& other) noexcept = default;
  ClaimedSlot& operator=(ClaimedSlot&& other) noexcept {
    std::swap(begun_ns_, other.begun_ns_);
    std::swap(is_counted_, other.is_counted_);
    std::swap(is_kept_, other.is_kept_);
    SourceSlot::operator=(std::move(other));
    return *this;
  }
  ~ClaimedSlot() {
    if (stream_ != nullptr) {
      give_back();
    }
  }

  /// Host memory to fill: slot_bytes of the epoch's pool. If the stream is in a device's memory, the slot's copy, whose
  /// bytes the stream has the device copy. A source that fills the slot by the device writes nothing here
  /// (FrameInfo::is_on_device).
  [[nodiscard]] std::span<std::byte> bytes() const noexcept { return pool_->slot(index_); }
  [[nodiscard]] std::int64_t begun_ns() const noexcept { return begun_ns_; }
  /// Of the frame, once Stream::publish_in_place() has published it: as in its header.
  [[nodiscard]] std::uint64_t sequence() const noexcept { return sequence_; }
  [[nodiscard]] std::int64_t completed_ns() const noexcept { return completed_ns_; }
  /// The sequence number that the frame gets if it is published next.
  [[nodiscard]] std::uint64_t next_sequence() const noexcept;

 private:
  friend class Stream;
  ClaimedSlot(Stream& stream, std::shared_ptr<Pool> pool, const StreamFormat& format, std::uint16_t index,
              std::int64_t begun_ns, bool is_counted) noexcept
      : SourceSlot(stream, std::move(pool), format, index), begun_ns_(begun_ns), is_counted_(is_counted) {}

  void give_back() noexcept;

  std::int64_t begun_ns_;
  bool is_counted_;       // by the stream, as a frame to come
  bool is_kept_ = false;  // it is published
};

/// A slot that is published, and that the source reads. Its memory is not used again before this is destroyed.
class KeptSlot : public SourceSlot {
 public:
  KeptSlot(KeptSlot&& other) noexcept = default;
  KeptSlot& operator=(KeptSlot&& other) noexcept = default;
  ~KeptSlot() {
    if (stream_ != nullptr) {
      give_back();
    }
  }

  /// What the source has filled. Viewers read it, too. Of a frame that a device filled, what is here is unknown.
  [[nodiscard]] std::span<const std::byte> bytes() const noexcept { return pool_->slot(index_); }
  /// As in the frame's header.
  [[nodiscard]] std::uint64_t sequence() const noexcept { return sequence_; }
  [[nodiscard]] std::int64_t completed_ns() const noexcept { return completed_ns_; }

 private:
  friend class Stream;
  explicit KeptSlot(ClaimedSlot&& published) noexcept : SourceSlot(std::move(published)) {}
  void give_back() noexcept;
};

}  // namespace framewire
