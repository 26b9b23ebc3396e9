// The subscriber queues of a stream: how frames enter them, leave for the links, and come back. Under the stream's
// mutex.
#include <algorithm>
#include <array>
#include <cassert>
#include <span>

#include "base/clock.hpp"
#include "base/file_descriptor.hpp"
#include "transport/stream.hpp"

namespace framewire {

void Stream::poll_all_released(WakeList& wakes) noexcept {
  for (SubscriberQueue* queue : queues_) {
    poll_released(*queue);
    send_waiting(*queue, wakes);
  }
}

void Stream::poll_released(SubscriberQueue& queue) noexcept {
  std::array<PoolSlot, 32> released;
  for (;;) {
    const std::size_t count = queue.link->poll_released(released);
    for (const PoolSlot& slot : std::span(released).first(count)) {
      const auto held = std::ranges::find(queue.held, slot);
      assert(held != queue.held.end());
      *held = queue.held.back();
      queue.held.pop_back();
      release(slot);
    }
    if (count < released.size()) {
      return;
    }
  }
}

void Stream::enqueue(SubscriberQueue& queue, const WaitingFrame& frame) noexcept {
  ++queue.counts.frames_produced;
  if (queue.waiting.full()) {
    drop_front(queue);
  }
  add_reference(frame.slot);
  queue.waiting.push(frame);
  if (queue.delivery == Delivery::latest) {
    drop_superseded(queue);
  }
}

void Stream::drop_front(SubscriberQueue& queue) noexcept {
  release(queue.waiting.pop().slot);
  if (queue.delivery == Delivery::latest && queue.counts.frames_sent == 0) {
    --queue.counts.frames_produced;  // its first frame has not come yet
  } else {
    ++queue.counts.frames_skipped;
  }
}

/// The newest frame that is ready replaces all before it. Those behind it are not ready.
void Stream::drop_superseded(SubscriberQueue& queue) noexcept {
  std::size_t newest = queue.waiting.size();
  while (newest > 1 && queue.waiting.at(newest - 1).readiness() != FenceState::done) {
    --newest;
  }
  for (; newest > 1; --newest) {
    drop_front(queue);
  }
}

/// A frame with this readiness is not waited for any more.
bool Stream::is_failed_or_late(const WaitingFrame& frame, FenceState readiness) noexcept {
  return readiness == FenceState::failed || monotonic_ns() - frame.header.times.completed_ns > ready_timeout_ns;
}

void Stream::send_waiting(SubscriberQueue& queue, WakeList& wakes) noexcept {
  if (queue.delivery == Delivery::latest) {
    drop_superseded(queue);
  }
  while (!queue.waiting.empty() && !queue.is_concluded) {
    WaitingFrame& frame = queue.waiting.front();
    // Read once: a device may finish at any time, and then wakes the session.
    if (const FenceState readiness = frame.readiness(); readiness != FenceState::done) {
      if (!is_failed_or_late(frame, readiness)) {
        break;
      }
      drop_front(queue);
      continue;
    }
    if (frame.slot.epoch != queue.ready_epoch) {
      if (frame.slot.epoch != queue.announced_epoch) {
        signal_eventfd(queue.wake_event);
      }
      break;
    }
    frame.header.times.offered_ns = monotonic_ns();
    const Pool& pool = pool_of(frame.slot.epoch);
    const std::uint64_t size_bytes = frame.header.layout.size_bytes;
    const Payload payload = queue.reads_host_copy ? pool.host_payload(frame.slot.index, size_bytes)
                                                  : pool.payload(frame.slot.index, size_bytes);
    // Every epoch starts with all its credits. Without this limit, a viewer could hold frames of many epochs.
    const bool may_hold = queue.held.size() < queue.max_held;
    const SendResult outcome =
        may_hold ? queue.link->try_send({frame.header, payload, frame.slot, frame.file}) : SendResult::no_credit;
    if (outcome == SendResult::accepted) {
      ++queue.counts.frames_sent;
      queue.counts.bytes_sent += frame.header.layout.size_bytes;
      queue.held.push_back(frame.slot);
      queue.waiting.pop();
    } else if (outcome == SendResult::closed || source_polls_itself(queue) || queue.link->arm()) {
      break;
    } else {
      poll_released(queue);
    }
  }
  wakes.add(*queue.link);
}

/// A spinning source polls credits itself, so waking the session for them would only cost time. Under `latest` the
/// source waits for no credit.
bool Stream::source_polls_itself(const SubscriberQueue& queue) const noexcept {
  return options_.wait == WaitMode::spin && queue.delivery == Delivery::every && !finished_;
}

bool Stream::arm_all_links() noexcept {
  bool must_wait = true;
  for (SubscriberQueue* queue : queues_) {
    must_wait &= queue->link->arm();
  }
  return must_wait;
}

}  // namespace framewire
