// A stream's source: epochs, claims, and frames that are published.
#include <algorithm>
#include <chrono>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/timer.hpp"
#include "transport/stream.hpp"

namespace framewire {

namespace {

/// Under `every` the source waits once this many frames wait for the slowest viewer. This keeps the viewer's link busy.
constexpr std::size_t max_waiting_under_every = 2;

/// A viewer would end the session for another layout, and a header has no room for some.
void require_valid(const FrameLayout& layout) {
  if (const auto fault = validate_layout(layout, layout.size_bytes)) {
    throw Error::failed("a source makes frames that no viewer takes: " + *fault);
  }
}

}  // namespace

void Stream::begin_epoch(const StreamFormat& format, std::uint64_t slot_bytes, std::uint32_t extra_slots) {
  if (extra_slots > max_extra_slots) {
    throw Error::failed("a source asks for " + std::to_string(extra_slots) + " slots of its own; it can have up to " +
                        std::to_string(max_extra_slots));
  }
  if (slot_bytes != 0 && slot_bytes < format.layout.size_bytes) {
    throw Error::failed("a slot of " + std::to_string(slot_bytes) + " bytes has no room for a frame of " +
                        std::to_string(format.layout.size_bytes));
  }
  require_valid(format.layout);
  const std::uint32_t slots = pool_slots_for(options_.max_viewers, options_.slots_per_viewer) + extra_slots;
  const std::uint32_t number = [this] {
    const std::scoped_lock lock(mutex_);
    return epochs_.empty() ? 1 : epochs_.back().pool->epoch() + 1;
  }();
  // Outside the lock: faulting in a gigabyte is slow, and links continue with the old epoch.
  auto pool = Pool::make(
      number, slot_bytes != 0 ? slot_bytes : format.layout.size_bytes, slots, options_.allows_pull,
      [this] { return is_stopping(); }, *options_.memory);
  if (!pool) {
    return;
  }
  Epochs begun;
  begun.push_back({format, std::move(pool), std::vector<SliceProgress>(slots)});
  Epochs unused;  // unmapped after the lock is released
  const Notice notice(*this);
  EventList sessions;
  const std::scoped_lock lock(mutex_);
  if (!epochs_.empty()) {
    if (epochs_.back().pool->epoch() >= number) {
      throw Error::failed("two formats of a stream were begun at once");
    }
    epochs_.back().pool->retire_newest();
  }
  unfinished_.reserve(unfinished_.size() + slots);  // publish() must not fail once a device copies the frame
  epochs_.splice(epochs_.end(), begun);
  unused = take_unused_epochs();
  wake_sessions(sessions);
}

// ---- Claims ----

std::optional<ClaimedSlot> Stream::claim(const ClaimOptions& options) {
  Notice notice(*this, false);
  WakeList wakes;
  std::unique_lock lock(mutex_);
  return await_room(options, wakes, notice, lock) ? std::optional(take_slot(true)) : std::nullopt;
}

bool Stream::wait_for_room(const ClaimOptions& options) {
  Notice notice(*this, false);
  WakeList wakes;
  std::unique_lock lock(mutex_);
  return await_room(options, wakes, notice, lock);
}

std::optional<ClaimedSlot> Stream::claim_spare() noexcept {
  const std::scoped_lock lock(mutex_);
  const bool has_slot = !finished_ && !epochs_.empty() && epochs_.back().pool->free_count() > 0;
  return has_slot ? std::optional(take_slot(false)) : std::nullopt;
}

/// Returns with the mutex held. Some waits end early without a reason: wake() and the deadline are looked at last.
bool Stream::await_room(const ClaimOptions& options, WakeList& wakes, Notice& notice,
                        std::unique_lock<std::mutex>& lock) {
  ++waiting_claims_;
  const auto leave = [this](void*) { --waiting_claims_; };
  const std::unique_ptr<Stream, decltype(leave)> at_end(this, leave);
  for (;;) {
    if (!may_go_on()) {
      return false;
    }
    if (find_room(options, wakes, notice)) {
      spin_.found();
      return true;
    }
    if (wakes_ > 0) {  // also by who does not wait: arm() has sent it here
      --wakes_;
      return false;
    }
    if (options.deadline_ns != INT64_MAX && monotonic_ns() >= options.deadline_ns) {
      return false;
    }
    const bool polls_again = spin_.poll_again(options_.wait);
    if (polls_again || !wakes.empty()) {
      lock.unlock();  // lets the sessions take the mutex
      wakes.wake();
      if (polls_again) {
        AdaptiveSpin::pause(options_.wait);
      }
      lock.lock();
    } else if (arm_all_links()) {
      wait_for_change(options.deadline_ns, lock);
    }
  }
}

void Stream::wait_for_change(std::int64_t deadline_ns, std::unique_lock<std::mutex>& lock) {
  const std::int64_t until_ns = std::min(deadline_ns, ends_ns());
  ++sleeping_claims_;
  if (until_ns == INT64_MAX) {
    changed_.wait(lock);
  } else {
    changed_.wait_until(lock, as_time_point(until_ns));
  }
  --sleeping_claims_;
}

bool Stream::arm(const ClaimOptions& options) noexcept {
  is_armed_.store(false, std::memory_order_relaxed);
  clear_eventfd(source_event_.get());
  Notice notice(*this, false);
  WakeList wakes;
  const std::scoped_lock lock(mutex_);
  if (wakes_ > 0 || !may_go_on() || find_room(options, wakes, notice) || !arm_all_links()) {
    return false;
  }
  is_armed_.store(true, std::memory_order_relaxed);
  if (limit_timer_.valid()) {
    set_timer(limit_timer_.get(), ends_ns() == INT64_MAX ? 0 : ends_ns());
  }
  return true;
}

void Stream::silence() noexcept {
  disarm();
  if (limit_timer_.valid()) {
    set_timer(limit_timer_.get(), 0);
  }
}

/// Who changes something does so under the mutex, before this: it either sees that the stream is armed, or arm() sees
/// the change.
void Stream::tell_waiting() noexcept {
  changed_.notify_all();
  if (is_armed_.load(std::memory_order_relaxed) && is_armed_.exchange(false)) {
    signal_eventfd(source_event_.get());
  }
}

void Stream::wake() noexcept {
  const Notice notice(*this);
  const std::scoped_lock lock(mutex_);
  wakes_ = std::min(wakes_ + 1, waiting_claims_ + 1);
}

void Stream::drop_frame() noexcept {
  const std::scoped_lock lock(mutex_);
  frames_dropped_at_source_ += may_go_on() ? 1U : 0U;
}

void Stream::return_claimed(const ClaimedSlot& slot) noexcept {
  Epochs unused;
  const Notice notice(*this);
  const std::scoped_lock lock(mutex_);
  frames_claimed_ -= slot.is_counted_ ? 1U : 0U;
  release(slot.pool_slot());
  unused = take_unused_epochs();
}

/// Most are still held by viewers: then nothing changes for those who wait, and the mutex is not needed.
void Stream::return_kept(const SourceSlot& slot) noexcept {
  if (!slot.pool_->end_kept(slot.index_)) {
    return;
  }
  Epochs unused;
  const Notice notice(*this);
  const std::scoped_lock lock(mutex_);
  slot.pool_->free_kept(slot.index_);
  unused = take_unused_epochs();
}

// ---- Frames ----

bool Stream::supports_sendfile() const {
  const std::scoped_lock lock(mutex_);
  return !queues_.empty() &&
         std::ranges::all_of(queues_, [](const SubscriberQueue* one) { return one->link->supports_sendfile(); });
}

bool Stream::publish(ClaimedSlot slot, const FrameInfo& info) {
  return publish(slot, info, false);
}

std::optional<KeptSlot> Stream::publish_and_keep(ClaimedSlot&& slot, const FrameInfo& info) {
  return publish(slot, info, true) ? std::optional(KeptSlot(std::move(slot))) : std::nullopt;
}

bool Stream::publish_in_place(ClaimedSlot& slot, const FrameInfo& info) {
  slot.is_kept_ = publish(slot, info, true);
  return slot.is_kept_;
}

bool Stream::publish(ClaimedSlot& slot, const FrameInfo& info, bool is_kept) {
  check(slot, info);
  const DeviceWork work = begin_device_work(slot, info);
  require_device(*slot.pool_);
  const bool is_offered = offer(slot, info, work, is_kept);
  observe(work);
  return is_offered;
}

void Stream::check(const ClaimedSlot& slot, const FrameInfo& info) const {
  if (slot.stream_ != this || slot.is_kept_) {
    throw Error::failed("a slot was published that this stream has not given out, or for the second time");
  }
  if (info.file.is_there() && options_.max_viewers != 1) {
    throw Error::failed("a frame in a file was published, which only a stream for one viewer can send");
  }
  if (info.ready && !info.is_on_device && !slot.pool_->is_on_host()) {
    throw Error::failed("a frame in host memory was published with a fence, in a stream in the memory of a device");
  }
  if (info.layout && info.layout->size_bytes > slot.pool_->slot_bytes()) {
    throw Error::failed("a frame of " + std::to_string(info.layout->size_bytes) + " bytes was published in a slot of " +
                        std::to_string(slot.pool_->slot_bytes()));
  }
  if (info.layout) {
    require_valid(*info.layout);
  }
}

/// A frame that is dropped keeps its slot, which its owner returns.
bool Stream::offer(ClaimedSlot& slot, const FrameInfo& info, const DeviceWork& work, bool is_kept) {
  const Notice notice(*this);
  WakeList wakes;
  const std::scoped_lock lock(mutex_);
  const PoolSlot pool_slot = slot.pool_slot();
  if (pool_slot.epoch != epochs_.back().pool->epoch()) {
    ++frames_dropped_at_source_;
    return false;
  }
  WaitingFrame frame;
  fill_header(frame.header, slot, info);
  frame.pool_slot = pool_slot;
  frame.file = info.file;
  frame.header.times.completed_ns = monotonic_ns();
  slot.sequence_ = frame.header.sequence;
  slot.completed_ns_ = frame.header.times.completed_ns;
  frame_completed(frame.header.times.completed_ns);
  SliceProgress* const progress = work.slices ? &epochs_.back().progress[pool_slot.index] : nullptr;
  if (progress != nullptr) {
    *progress = {.count = work.slices->count, .is_copied = true, .filled = {}};
    note_copied(*progress, *work.slices, frame.header.times.completed_ns);
  }
  for (SubscriberQueue* queue : queues_) {
    if (queue->reads_host_copy ? !work.is_in_host_memory : !work.is_in_block) {
      continue;  // it came while the frame was being published, and starts with the next one
    }
    frame.ready = queue->reads_host_copy ? work.copied : work.filled;
    frame.progress = queue->reads_host_copy ? progress : nullptr;
    frame.payload = payload_for(*queue, frame);
    enqueue(*queue, frame);
    send_waiting(*queue, wakes, frame.header.times.completed_ns);
  }
  if (work.is_there()) {
    keep_until_finished(pool_slot, frame.header, work);
  }
  if (work.has_filled_block()) {
    show_to_pullers(pool_slot, frame.header);
  }
  frames_claimed_ -= slot.is_counted_ ? 1U : 0U;
  if (is_kept) {
    slot.pool_->keep(pool_slot.index);
  } else {
    release(pool_slot);
    slot.stream_ = nullptr;
  }
  return true;
}

/// What the queue's link reads of a frame of the newest epoch.
Payload Stream::payload_for(const SubscriberQueue& queue, const WaitingFrame& frame) const noexcept {
  const Pool& pool = *epochs_.back().pool;
  const std::uint64_t size_bytes = frame.header.layout.size_bytes;
  return queue.reads_host_copy ? pool.host_payload(frame.pool_slot.index, size_bytes)
                               : pool.payload(frame.pool_slot.index, size_bytes);
}

/// Gives the frame its number, and counts it. It may not be complete yet. `header` is new.
void Stream::fill_header(FrameHeader& header, const ClaimedSlot& slot, const FrameInfo& info) noexcept {
  const StreamFormat& format = epochs_.back().format;
  header.sequence = next_sequence_++;
  header.stream = options_.number;
  header.epoch = slot.pool_->epoch();
  header.user_tag = info.user_tag;
  header.pts_ns = info.pts_ns;
  header.times.begun_ns = info.begun_ns != 0 ? info.begun_ns : slot.begun_ns_;
  header.colour = format.colour;
  header.layout = info.layout ? *info.layout : format.layout;
  header.has_test_pattern = info.has_test_pattern;
  header.slice_bytes = header.layout.size_bytes;
  ++frames_produced_;
}

void Stream::frame_completed(std::int64_t at_ns) noexcept {
  if (last_frame_ns_ == 0) {
    first_frame_ns_ = at_ns;
  }
  last_frame_ns_ = at_ns;
}

// ---- Waiting for something else ----

bool Stream::sleep_until(std::int64_t due_ns) {
  std::unique_lock lock(mutex_);
  const std::int64_t end_ns = std::min(due_ns, ends_ns());
  changed_.wait_until(lock, as_time_point(end_ns), [&] { return stopping_ || monotonic_ns() >= end_ns; });
  return !stopping_ && end_ns == due_ns;
}

bool Stream::wait_for_viewer() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return stopping_ || is_watched(); });
  return !stopping_;
}

bool Stream::wait_for_ready_viewer() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return stopping_ || has_ready_viewer() || !pullers_.empty(); });
  return !stopping_;
}

// ---- Under the mutex ----

bool Stream::may_go_on() const noexcept {
  if (stopping_ || (options_.max_frames != 0 && frames_produced_ >= options_.max_frames)) {
    return false;
  }
  return ends_ns() == INT64_MAX || monotonic_ns() < ends_ns();
}

/// When the stream reaches its time limit; INT64_MAX: it has none, or no frame yet.
std::int64_t Stream::ends_ns() const noexcept {
  return options_.max_duration_ns == 0 || last_frame_ns_ == 0 ? INT64_MAX : first_frame_ns_ + options_.max_duration_ns;
}

/// An `every` stream starts only for a viewer that will receive its frames. A pulling viewer does not count, since it
/// sets no pace. A viewer that is not ready may still find its link unusable and change it, and frames waiting for that
/// link would be lost.
bool Stream::is_watched() const noexcept {
  return options_.delivery == Delivery::every ? has_ready_viewer() : !queues_.empty() || !pullers_.empty();
}

bool Stream::has_ready_viewer() const noexcept {
  return std::ranges::any_of(queues_, [](const SubscriberQueue* queue) { return queue->ready_epoch != 0; });
}

bool Stream::has_room() const noexcept {
  if (epochs_.empty() || epochs_.back().pool->free_count() == 0) {
    return false;
  }
  if (frames_left_are_claimed()) {
    return false;  // until one of the claimed slots comes back unpublished
  }
  if (options_.one_in_flight && leaving_ > 0) {
    return false;
  }
  return std::ranges::none_of(queues_, [this](const SubscriberQueue* queue) {
    if (options_.one_in_flight) {
      return !queue->waiting.empty() || queue->begun ||
             queue->link->frames_acknowledged() != queue->counts.frames_sent + queue->counts.frames_aborted;
    }
    return queue->delivery == Delivery::every && queue->waiting.size() >= max_waiting_under_every;
  });
}

/// Who polls a link takes what would have woken the session, and with it the claims that sleep: it arms the link anew
/// for them, and tells them of room, of which it may leave some.
bool Stream::find_room(const ClaimOptions& options, WakeList& wakes, Notice& notice) noexcept {
  if (!options.unwatched && !is_watched()) {
    return false;
  }
  if (has_room()) {
    return true;
  }
  do {
    poll_all_released(wakes);
    if (has_room()) {
      if (others_sleep()) {
        notice.need();
      }
      return true;
    }
  } while (others_sleep() && !arm_all_links());
  return false;
}

/// There is a free slot.
ClaimedSlot Stream::take_slot(bool is_counted) noexcept {
  const Epoch& epoch = epochs_.back();
  const std::uint16_t index = *epoch.pool->claim();
  frames_claimed_ += is_counted ? 1U : 0U;
  return {*this, epoch.pool, epoch.format, index, monotonic_ns(), is_counted};
}

}  // namespace framewire
