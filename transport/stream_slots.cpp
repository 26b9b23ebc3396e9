#include "transport/stream.hpp"

namespace framewire {

// The source's functions that do not wait.

std::optional<ClaimedSlot> Stream::claim_now() {
  Wakes wakes(wakers_);
  const std::scoped_lock lock(mutex_);
  return take_slot_if_room(wakes);
}

std::optional<ClaimedSlot> Stream::try_claim() {
  Wakes wakes(wakers_);
  const std::scoped_lock lock(mutex_);
  auto slot = take_slot_if_room(wakes);
  if (!slot && may_go_on()) {
    ++frames_dropped_at_source_;
  }
  return slot;
}

std::optional<LentSlot> Stream::lend() noexcept {
  const std::scoped_lock lock(mutex_);
  if (epochs_.empty() || epochs_.back().lendable == 0) {
    return std::nullopt;
  }
  Epoch& epoch = epochs_.back();
  const auto index = epoch.pool->claim();
  if (!index) {
    return std::nullopt;  // returned slots are still held by viewers
  }
  --epoch.lendable;
  return LentSlot{{epoch.pool->epoch(), *index}, epoch.pool->slot(*index), epoch.pool->block()};
}

void Stream::take_back(const PoolSlot& slot) noexcept {
  Epochs unused;
  const std::scoped_lock lock(mutex_);
  ++epoch_numbered(slot.epoch).lendable;
  release(slot);
  unused = take_unused_epochs();
  changed_.notify_all();
}

}  // namespace framewire
