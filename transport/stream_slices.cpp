// Frames that viewers get slice by slice, while their sources still fill them.
#include <mutex>
#include <string>
#include <utility>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "transport/stream.hpp"

namespace framewire {

BegunFrame::~BegunFrame() {
  if (stream_ != nullptr) {
    stream_->end_frame(*this);
  }
}

void BegunFrame::publish(std::uint16_t index) {
  stream_->publish_slice(*this, index);
}

std::optional<BegunFrame> Stream::begin_frame(ClaimedSlot slot, const FrameInfo& info, std::uint16_t slices) {
  check(slot, info);
  if (info.file.is_there() || info.ready || info.is_on_device) {
    throw Error::failed("a frame was begun in slices that the processor does not fill");
  }
  const Notice notice(*this);
  const std::scoped_lock lock(mutex_);
  const PoolSlot pool_slot = slot.pool_slot();
  Epoch& epoch = epochs_.back();
  if (pool_slot.epoch != epoch.pool->epoch()) {
    ++frames_dropped_at_source_;
    return std::nullopt;
  }
  WaitingFrame frame;
  fill_header(frame.header, slot, info);
  frame.pool_slot = pool_slot;
  SliceProgress& progress = epoch.progress[pool_slot.index];
  progress = {};
  progress.count = possible_slices(frame.header.layout.size_bytes, slices);
  frame.progress = &progress;
  for (SubscriberQueue* queue : queues_) {
    frame.payload = payload_for(*queue, frame);
    frame.needs_upload = !slot.pool_->is_on_host() && !queue->reads_host_copy;
    enqueue(*queue, frame);
  }
  frames_claimed_ -= slot.is_counted_ ? 1U : 0U;
  return BegunFrame(std::move(slot), frame.header, progress);
}

/// The frame is its caller's alone. So the device's copy begins without the mutex: that may take the driver a while.
void Stream::publish_slice(BegunFrame& frame, std::uint16_t index) {
  DeviceWork work{.is_in_block = frame.pool_->is_on_host()};
  {
    const Notice notice(*this);
    WakeList wakes;
    std::unique_lock lock(mutex_);
    SliceProgress& progress = *frame.progress_;
    if (index >= progress.count || progress.filled[index]) {
      throw Error::failed("slice " + std::to_string(index) + " of " + std::to_string(progress.count) +
                          " was published for the second time, or there is no such slice");
    }
    progress.filled.set(index);
    if (progress.filled.count() == progress.count) {
      if (!work.is_in_block && readers().of_block) {
        lock.unlock();
        copy_to_block(frame, frame.header_.layout.size_bytes, work);
        lock.lock();
      }
      complete(frame, work);
    }
    send_all_waiting(wakes);
  }
  observe(work);
  require_device(*frame.pool_);
}

void Stream::complete(BegunFrame& frame, const DeviceWork& work) noexcept {
  SliceProgress& progress = *frame.progress_;
  progress.uploaded = work.filled;
  progress.completed_ns = monotonic_ns();
  frame.header_.times.completed_ns = progress.completed_ns;
  frame_completed(progress.completed_ns);
  if (work.is_there()) {
    keep_until_finished(frame.pool_slot(), frame.header_, work);
  }
  if (work.has_filled_block()) {
    show_to_pullers(frame.pool_slot(), frame.header_);
  }
}

void Stream::end_frame(const BegunFrame& frame) noexcept {
  Epochs unused;
  const Notice notice(*this);
  WakeList wakes;
  const std::scoped_lock lock(mutex_);
  if (frame.progress_->completed_ns == 0) {
    frame.progress_->is_aborted = true;
    send_all_waiting(wakes);
  }
  release(frame.pool_slot());
  unused = take_unused_epochs();
}

void Stream::send_all_waiting(WakeList& wakes) noexcept {
  for (SubscriberQueue* queue : queues_) {
    send_waiting(*queue, wakes);
  }
}

}  // namespace framewire
