#include "transport/claimed_slot.hpp"

#include <cassert>
#include <utility>

#include "transport/stream.hpp"

namespace framewire {

ClaimedSlot::ClaimedSlot(Stream& stream, std::shared_ptr<Pool> pool, std::uint16_t index,
                         std::int64_t begun_ns) noexcept
    : stream_(&stream), pool_(std::move(pool)), index_(index), begun_ns_(begun_ns) {}

ClaimedSlot::ClaimedSlot(ClaimedSlot&& other) noexcept
    : stream_(std::exchange(other.stream_, nullptr)),
      pool_(std::move(other.pool_)),
      index_(other.index_),
      begun_ns_(other.begun_ns_) {}

ClaimedSlot::~ClaimedSlot() {
  if (stream_ != nullptr) {
    stream_->return_unpublished({pool_->epoch(), index_});
  }
}

std::span<std::byte> ClaimedSlot::bytes() const noexcept {
  return pool_->slot(index_);
}
const std::shared_ptr<HostBlock>& ClaimedSlot::host_block() const noexcept {
  assert(pool_->is_on_host());
  return pool_->host_block();
}
const std::shared_ptr<Block>& ClaimedSlot::block() const noexcept {
  return pool_->block();
}
std::uint64_t ClaimedSlot::offset_in_block_bytes() const noexcept {
  return index_ * pool_->stride_bytes();
}

std::uint64_t ClaimedSlot::next_sequence() const noexcept {
  const std::scoped_lock lock(stream_->mutex_);
  return stream_->next_sequence_;
}

}  // namespace framewire
