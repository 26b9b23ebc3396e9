// The subscriber queues of a stream: how frames enter them, leave for the links, and come back. Under the stream's
// mutex.
#include <algorithm>
#include <array>
#include <cassert>
#include <span>
#include <utility>

#include "base/clock.hpp"
#include "transport/stream.hpp"

namespace framewire {

namespace {

/// So long a frame may wait for a credit that has come, when a spinning source stops polling. A session that looked
/// more often would disturb the source.
constexpr std::int64_t look_interval_ns = ns_per_ms;

}  // namespace

void Stream::poll_all_released(WakeList& wakes) noexcept {
  for (SubscriberQueue* queue : queues_) {
    queue->source_polls = queue->has_been_polled =
        options_.wait == WaitMode::spin && queue->delivery == Delivery::every;
    poll_released(*queue);
    send_waiting(*queue, wakes);
  }
}

void Stream::poll_released(SubscriberQueue& queue) noexcept {
  std::array<PoolSlot, 32> released;
  for (;;) {
    const std::size_t count = queue.link->poll_released(released);
    for (const PoolSlot& slot : std::span(released).first(count)) {
      queue.held.at(queue.held.find_if([&](const PoolSlot& held) { return held == slot; })) = queue.held.front();
      queue.held.drop();
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
    drop_front(queue, queue.waiting.front().readiness());
  }
  add_reference(frame.pool_slot);
  queue.waiting.push(frame);
  if (queue.delivery == Delivery::latest) {
    drop_superseded(queue);
  }
}

void Stream::drop_front(SubscriberQueue& queue, FenceState readiness) noexcept {
  const WaitingFrame& frame = queue.waiting.front();
  const bool is_unfilled = frame.awaits_device() && is_failed_or_late(frame, readiness);
  const bool is_oldest = queue.waiting.size() == 1 || frame.header.sequence < queue.waiting.at(1).header.sequence;
  release(frame.pool_slot);
  queue.waiting.drop();
  if (queue.delivery == Delivery::latest && queue.counts.first_frame == 0 && !is_unfilled) {
    if (is_oldest) {  // its first frame has not come yet, and those behind this one came before that, too
      queue.counts.frames_produced -= 1 + queue.skipped_behind_first;
      queue.counts.frames_skipped -= std::exchange(queue.skipped_behind_first, 0);
      return;
    }
    ++queue.skipped_behind_first;
  }
  ++queue.counts.frames_skipped;
  queue.counts.frames_unfilled += is_unfilled ? 1U : 0U;
}

/// The newest frame that is ready replaces all before it. Those behind it are not ready. If the viewer got ready for
/// several formats in a row and had no frame of them, the newest frame of the format that it is or gets ready for is
/// kept in front: a source that changes its format faster than that would never show anything otherwise.
void Stream::drop_superseded(SubscriberQueue& queue) noexcept {
  std::size_t newest = queue.waiting.size();
  while (newest > 1 && queue.waiting.at(newest - 1).readiness() != FenceState::done) {
    --newest;
  }
  const std::size_t awaited = newest > 1 ? newest_of_awaited_epoch(queue, newest - 1) : 0;
  for (std::size_t i = 0; i + 1 < awaited; ++i, --newest) {
    drop_front(queue, queue.waiting.front().readiness());
  }
  for (; newest > (awaited != 0 ? 2U : 1U); --newest) {
    if (awaited != 0) {
      std::swap(queue.waiting.at(0), queue.waiting.at(1));
    }
    drop_front(queue, queue.waiting.front().readiness());
  }
}

/// How many frames there are up to the newest ready one of the announced epoch, before `newest`; 0 if none is to be
/// kept.
std::size_t Stream::newest_of_awaited_epoch(const SubscriberQueue& queue, std::size_t newest) noexcept {
  const auto is_awaited = [&](std::size_t i) { return queue.waiting.at(i).pool_slot.epoch == queue.announced_epoch; };
  if (queue.epochs_missed < most_epochs_missed || queue.announced_epoch == queue.sent_epoch || is_awaited(newest)) {
    return 0;
  }
  std::size_t count = newest;
  while (count > 0 && !(is_awaited(count - 1) && queue.waiting.at(count - 1).readiness() == FenceState::done)) {
    --count;
  }
  return count;
}

/// A frame with this readiness is not waited for any more. A source that fills a frame in slices may take its time.
bool Stream::is_failed_or_late(const WaitingFrame& frame, FenceState readiness) noexcept {
  if (readiness != FenceState::pending) {
    return readiness == FenceState::failed;
  }
  const std::int64_t completed_ns = frame.completed_ns();
  return completed_ns != 0 && monotonic_ns() - completed_ns > ready_timeout_ns;
}

void Stream::send_waiting(SubscriberQueue& queue, WakeList& wakes, std::int64_t now_ns) noexcept {
  if (queue.delivery == Delivery::latest) {
    drop_superseded(queue);
  }
  while (!queue.is_concluded) {
    const OutgoingFrame* const next = next_to_send(queue, now_ns);
    if (next == nullptr) {
      break;
    }
    // Every epoch starts with all its credits. Without this limit, a viewer could hold frames of many epochs.
    const bool may_hold = !next->is_first || queue.held.size() < queue.max_held;
    const SendResult outcome = may_hold ? queue.link->try_send(*next) : SendResult::no_credit;
    if (outcome == SendResult::accepted) {
      was_sent(queue, *next);
    } else if (outcome == SendResult::closed || leaves_to_source(queue) || queue.link->arm()) {
      break;
    } else {
      poll_released(queue);
    }
  }
  wakes.add(*queue.link);
  if (std::exchange(queue.session_is_due, false)) {
    wakes.add(queue.wake_event);
  }
}

/// The next frame or slice that the link can have now, or null. Drops frames that will not become ready.
const OutgoingFrame* Stream::next_to_send(SubscriberQueue& queue, std::int64_t now_ns) noexcept {
  if (queue.begun) {
    return next_slice(queue, queue.begun->frame, queue.begun->sent);
  }
  while (!queue.waiting.empty()) {
    WaitingFrame& frame = queue.waiting.front();
    // Read once: a device may finish at any time, and then wakes the session.
    const FenceState readiness = frame.readiness();
    if (is_failed_or_late(frame, readiness)) {
      drop_front(queue, readiness);
      continue;
    }
    const bool is_in_slices = goes_in_slices(queue, frame);
    if (readiness != FenceState::done && !(is_in_slices && frame.progress->filled.any())) {
      return nullptr;
    }
    if (frame.pool_slot.epoch != queue.ready_epoch) {
      if (frame.pool_slot.epoch != queue.announced_epoch && queue.announced_epoch == queue.ready_epoch) {
        queue.session_is_due = true;
      }
      return nullptr;
    }
    if (is_in_slices) {
      return next_slice(queue, frame, {});
    }
    frame.header.times.offered_ns = now_ns != 0 ? now_ns : monotonic_ns();
    if (frame.progress != nullptr) {
      frame.header.times.completed_ns = frame.progress->completed_ns;
    }
    return &frame;
  }
  return nullptr;
}

bool Stream::goes_in_slices(const SubscriberQueue& queue, const WaitingFrame& frame) noexcept {
  return frame.progress != nullptr && frame.progress->count > 1 && !frame.needs_upload && queue.takes_slices &&
         frame.progress->count <= queue.link->slice_limit();
}

/// A slice that is filled and not among the sent ones, or null. Of an aborted frame, the message that says so.
const OutgoingFrame* Stream::next_slice(SubscriberQueue& queue, const WaitingFrame& frame,
                                        const SliceSet& sent) noexcept {
  const SliceProgress& progress = *frame.progress;
  std::uint16_t index = 0;
  while (index < progress.count && (sent[index] || !(progress.filled[index] || progress.is_aborted))) {
    ++index;
  }
  if (index == progress.count) {
    return nullptr;
  }
  OutgoingFrame& slice = queue.slice;
  slice = static_cast<const OutgoingFrame&>(frame);
  slice.is_first = sent.none();
  slice.is_last = progress.is_aborted || sent.count() + 1 == progress.count;
  slice.header.slice = index;
  slice.header.slice_count = progress.count;
  slice.header.is_aborted = progress.is_aborted;
  const ByteRange range = progress.is_aborted ? ByteRange{} : slice_range(slice.header);
  slice.header.slice_offset_bytes = range.offset_bytes;
  slice.header.slice_bytes = range.size_bytes;
  slice.header.times.completed_ns = slice.is_last ? progress.completed_ns : 0;
  slice.header.times.offered_ns = monotonic_ns();
  return &slice;
}

/// The link has a reference to the slot from the first slice on, and the queue until the last one: of a whole frame the
/// queue's one becomes the link's.
void Stream::was_sent(SubscriberQueue& queue, const OutgoingFrame& part) noexcept {
  const PoolSlot slot = part.pool_slot;
  ++room_changes_;
  queue.sent_epoch = slot.epoch;
  queue.epochs_missed = 0;
  if (part.is_first) {
    queue.held.push(slot);
    if (queue.counts.first_frame == 0) {
      queue.counts.first_frame = part.header.sequence - options_.first_sequence + 1;
    }
  }
  if (!part.is_last) {
    if (part.is_first) {
      add_reference(slot);
      queue.begun.emplace(BegunOnLink{.frame = queue.waiting.pop(), .sent = {}});
    }
    queue.begun->sent.set(part.header.slice);
    return;
  }
  if (part.header.is_aborted) {
    ++queue.counts.frames_aborted;
    queue.counts.frames_unfilled += queue.begun->frame.awaits_device() ? 1U : 0U;
  } else {
    ++queue.counts.frames_sent;
    queue.counts.bytes_sent += part.header.layout.size_bytes;
  }
  if (queue.begun) {
    queue.begun.reset();
    release(slot);
    if (epochs_.back().pool->epoch() != queue.announced_epoch) {
      queue.session_is_due = true;  // the session has put off the new epoch until now
    }
  } else {
    queue.waiting.drop();  // with `part`, if that was a whole frame
  }
}

/// A spinning source polls credits itself, so waking the session for each would only cost time. But it may have filled
/// its last frame for a while: the session looks after a moment whether it still polls. Under `latest` the source waits
/// for no credit.
bool Stream::leaves_to_source(SubscriberQueue& queue) const noexcept {
  if (!queue.source_polls || finished_) {
    return false;
  }
  if (queue.next_look_ns == INT64_MAX) {
    queue.next_look_ns = monotonic_ns() + look_interval_ns;
    queue.session_is_due = true;
  }
  return true;
}

/// A source that has not polled since the last look has something else to do: from now on the link is armed.
void Stream::look_at_source(SubscriberQueue& queue) noexcept {
  if (queue.next_look_ns == INT64_MAX || monotonic_ns() < queue.next_look_ns) {
    return;
  }
  queue.source_polls = std::exchange(queue.has_been_polled, false);
  queue.next_look_ns = queue.source_polls && !queue.waiting.empty() ? monotonic_ns() + look_interval_ns : INT64_MAX;
}

bool Stream::arm_all_links() noexcept {
  bool must_wait = true;
  for (SubscriberQueue* queue : queues_) {
    must_wait &= queue->link->arm();
  }
  return must_wait;
}

}  // namespace framewire
