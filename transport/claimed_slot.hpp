// A slot while the source owns it, between claim and publish.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "transport/pool.hpp"

namespace framewire {

class Stream;

/// A slot that the source fills. Move-only. Destroying it unpublished returns the slot to the pool. Source thread.
class ClaimedSlot {
 public:
  ClaimedSlot(ClaimedSlot&& other) noexcept;
  ClaimedSlot& operator=(ClaimedSlot&&) = delete;
  ClaimedSlot(const ClaimedSlot&) = delete;
  ~ClaimedSlot();

  /// The slot's memory: slot_bytes of the epoch's pool. Only of a stream in host memory, whose block host_block() is.
  [[nodiscard]] std::span<std::byte> bytes() const noexcept;
  [[nodiscard]] const std::shared_ptr<HostBlock>& host_block() const noexcept;
  /// The block that holds the slot, and the slot's offset in it. A device that fills the slot needs both.
  [[nodiscard]] const std::shared_ptr<Block>& block() const noexcept;
  [[nodiscard]] std::uint64_t offset_in_block_bytes() const noexcept;
  [[nodiscard]] std::int64_t begun_ns() const noexcept { return begun_ns_; }
  /// The sequence number that the frame gets if it is published next.
  [[nodiscard]] std::uint64_t next_sequence() const noexcept;

 private:
  friend class Stream;
  ClaimedSlot(Stream& stream, std::shared_ptr<Pool> pool, std::uint16_t index, std::int64_t begun_ns) noexcept;

  Stream* stream_;  // null after a move
  std::shared_ptr<Pool> pool_;
  std::uint16_t index_;
  std::int64_t begun_ns_;
};

}  // namespace framewire
