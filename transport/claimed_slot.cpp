#include "transport/claimed_slot.hpp"

#include "transport/stream.hpp"

namespace framewire {

ClaimedSlot::~ClaimedSlot() {
  if (stream_ != nullptr) {
    stream_->return_claimed(*this);
  }
}

std::span<std::byte> ClaimedSlot::bytes() const noexcept {
  return pool_->slot(index_);
}

std::uint64_t ClaimedSlot::next_sequence() const noexcept {
  const std::scoped_lock lock(stream_->mutex_);
  return stream_->next_sequence_;
}

KeptSlot::~KeptSlot() {
  if (stream_ != nullptr) {
    stream_->return_kept(pool_slot());
  }
}

std::span<const std::byte> KeptSlot::bytes() const noexcept {
  return pool_->slot(index_);
}

}  // namespace framewire
