#include "transport/claimed_slot.hpp"

#include "transport/stream.hpp"

namespace framewire {

void ClaimedSlot::give_back() noexcept {
  if (is_kept_) {
    stream_->return_kept(*this);
  } else {
    stream_->return_claimed(*this);
  }
}

std::uint64_t ClaimedSlot::next_sequence() const noexcept {
  const std::scoped_lock lock(stream_->mutex_);
  return stream_->next_sequence_;
}

void KeptSlot::give_back() noexcept {
  stream_->return_kept(*this);
}

}  // namespace framewire
