// Frames whose slots a device still fills, or still copies to host memory for links that need that.
#include <algorithm>
#include <exception>
#include <mutex>
#include <vector>

#include "transport/stream.hpp"

namespace framewire {

/// Starts the copy that some links need, once for all of them. The slot is the caller's alone until offer().
Stream::DeviceWork Stream::begin_device_work(const ClaimedSlot& slot, const FrameInfo& info) {
  DeviceWork work{.filled = info.ready, .copied = nullptr};
  const Pool& pool = *slot.pool_;
  if (pool.is_on_host()) {
    return work;
  }
  {
    const std::scoped_lock lock(mutex_);
    if (std::ranges::none_of(queues_, &SubscriberQueue::reads_host_copy)) {
      return work;
    }
  }
  const std::uint64_t size_bytes = info.layout ? info.layout->size_bytes : pool.slot_bytes();
  try {
    work.copied = pool.block()->copy_to_host(pool.host_block(), slot.offset_in_block_bytes(), size_bytes, info.ready);
  } catch (const std::exception&) {
    // The frame is dropped as one whose copy fails later. Its slot waits for the device that fills it.
    work.copied = std::make_shared<Fence>();
    work.copied->finish(FenceState::failed);
  }
  return work;
}

void Stream::keep_until_finished(const WaitingFrame& frame, const DeviceWork& work) noexcept {
  unfinished_.push_back({.header = frame.header,
                         .slot = frame.pool_slot,
                         .work = work,
                         .is_hidden = work.filled && work.filled->state() != FenceState::done});
  add_reference(frame.pool_slot);
}

void Stream::release_finished() noexcept {
  std::erase_if(unfinished_, [this](Unfinished& one) {
    if (one.is_hidden && one.work.filled->state() == FenceState::done) {
      one.is_hidden = false;
      show_to_pullers(one.slot, one.header);
    }
    if (!one.work.is_finished()) {
      return false;
    }
    release(one.slot);
    return true;
  });
}

/// On a device's thread. Sending is left to the sessions, and so is freeing the pools of earlier epochs.
void Stream::on_device_work_finished() noexcept {
  const Notice notice(*this);
  const std::scoped_lock lock(mutex_);
  release_finished();
  wake_sessions();
}

/// Not a frame that is older than one that they see, nor of an earlier epoch: the frame directory names the newest.
void Stream::show_to_pullers(const PoolSlot& slot, const FrameHeader& header) noexcept {
  Pool& pool = *epochs_.back().pool;
  if (pool.directory() != nullptr && slot.epoch == pool.epoch() && header.sequence >= newest_shown_) {
    newest_shown_ = header.sequence + 1;
    pool.publish_cell(slot.index, header);
  }
}

}  // namespace framewire
