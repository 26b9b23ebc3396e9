#include "transport/stream.hpp"

#include <algorithm>
#include <array>
#include <cassert>
#include <chrono>
#include <iterator>
#include <utility>

#include "base/clock.hpp"
#include "base/file_descriptor.hpp"

namespace framewire {

namespace {

/// Under `every` the source waits once this many frames wait for the slowest viewer. This keeps the viewer's link busy.
constexpr std::size_t max_waiting_under_every = 2;

/// Pulling viewers cost the others nothing, but each needs a connection and a thread.
constexpr std::size_t max_pullers = 16;

std::chrono::steady_clock::time_point as_time_point(std::int64_t monotonic) {
  return std::chrono::steady_clock::time_point(std::chrono::nanoseconds(monotonic));
}

}  // namespace

class Stream::Observer {
 public:
  explicit Observer(Stream& stream) noexcept : stream_(&stream) {}
  void forget_stream() noexcept {
    const std::scoped_lock lock(mutex_);
    stream_ = nullptr;
  }
  void notify() noexcept {
    const std::scoped_lock lock(mutex_);
    if (stream_ != nullptr) {
      stream_->on_device_work_finished();
    }
  }

 private:
  std::mutex mutex_;  // before the stream's
  Stream* stream_;
};

// ---- The source's side ----

Stream::Stream(StreamOptions options)
    : options_(std::move(options)),
      next_sequence_(options_.first_sequence),
      observer_(std::make_shared<Observer>(*this)) {
  const std::size_t max_queues = 2 * std::size_t{options_.max_viewers};  // every viewer may change its link at once
  queues_.reserve(max_queues);
  wakers_.resize(max_queues);
}

Stream::~Stream() {
  observer_->forget_stream();
  assert(queues_.empty());
}

void Stream::begin_epoch(const StreamFormat& format, std::uint64_t slot_bytes, std::uint32_t lent_slots) {
  const std::uint32_t slots = pool_slots_for(options_.max_viewers, options_.slots_per_viewer) + lent_slots;
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
  begun.push_back({format, std::move(pool), lent_slots});
  Epochs unused;  // unmapped after the lock is released
  const std::scoped_lock lock(mutex_);
  if (!epochs_.empty()) {
    epochs_.back().pool->retire_newest();
  }
  epochs_.splice(epochs_.end(), begun);
  unused = take_unused_epochs();
  wake_sessions();
}

std::optional<ClaimedSlot> Stream::claim() {
  WakeList wakes(wakers_);
  std::unique_lock lock(mutex_);
  for (;;) {
    if (!may_go_on()) {
      return std::nullopt;
    }
    if (auto slot = take_slot_if_room(wakes)) {
      spin_.found(slot->begun_ns());
      return slot;
    }
    const bool polls_again = spin_.poll_again(options_.wait);
    if (polls_again || !wakes.empty()) {
      lock.unlock();  // lets the sessions take the mutex
      wakes.wake();
      if (polls_again) {
        spin_.pause(options_.wait);
      }
      lock.lock();
    } else if (arm_all_links()) {
      wait_for_change(lock);
    }
  }
}

std::optional<ClaimedSlot> Stream::claim_now() {
  WakeList wakes(wakers_);
  const std::scoped_lock lock(mutex_);
  return take_slot_if_room(wakes);
}

std::optional<ClaimedSlot> Stream::try_claim() {
  WakeList wakes(wakers_);
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
  if (!epoch.pool->is_on_host()) {
    return std::nullopt;  // a decoder writes by the processor
  }
  const auto index = epoch.pool->claim();
  if (!index) {
    return std::nullopt;  // returned slots are still held by viewers
  }
  --epoch.lendable;
  return LentSlot{{epoch.pool->epoch(), *index}, epoch.pool->slot(*index), epoch.pool->host_block()};
}

void Stream::take_back(const PoolSlot& slot) noexcept {
  Epochs unused;
  const std::scoped_lock lock(mutex_);
  ++epoch_numbered(slot.epoch).lendable;
  release(slot);
  unused = take_unused_epochs();
  changed_.notify_all();
}

void Stream::wait_for_change(std::unique_lock<std::mutex>& lock) {
  if (options_.max_duration_ns != 0 && frames_produced_ > 0) {
    changed_.wait_until(lock, as_time_point(first_frame_ns_ + options_.max_duration_ns));
  } else {
    changed_.wait(lock);
  }
}

bool Stream::supports_sendfile() const {
  const std::scoped_lock lock(mutex_);
  return !queues_.empty() &&
         std::ranges::all_of(queues_, [](const SubscriberQueue* one) { return one->link->supports_sendfile(); });
}

void Stream::publish(ClaimedSlot slot, const FrameInfo& info) {
  const DeviceWork work = begin_device_work(slot, info);
  offer(std::move(slot), info, work);
  observe(work);
}

/// Without the mutex: a fence that is finished already calls this at once.
void Stream::observe(const DeviceWork& work) {
  for (const auto& fence : {work.filled, work.copied}) {
    if (fence) {
      fence->when_finished([observer = observer_](FenceState) { observer->notify(); });
    }
  }
}

void Stream::offer(ClaimedSlot slot, const FrameInfo& info, const DeviceWork& work) {
  WakeList wakes(wakers_);
  const std::scoped_lock lock(mutex_);
  const Epoch& epoch = epochs_.back();
  const PoolSlot claimed{slot.pool_->epoch(), slot.index_};
  const PoolSlot pool_slot = info.lent.value_or(claimed);
  assert(claimed.epoch == epoch.pool->epoch() && pool_slot.epoch == claimed.epoch);
  make_room_for_unfinished();
  WaitingFrame frame{.header = {.sequence = next_sequence_++,
                                .stream = options_.number,
                                .epoch = pool_slot.epoch,
                                .user_tag = info.user_tag,
                                .pts_ns = info.pts_ns,
                                .times = {.begun_ns = slot.begun_ns_, .completed_ns = monotonic_ns()},
                                .colour = epoch.format.colour,
                                .layout = info.layout ? *info.layout : epoch.format.layout,
                                .has_test_pattern = info.has_test_pattern},
                     .slot = pool_slot,
                     .file = info.file};
  assert(!info.file.is_there() || options_.max_viewers == 1);
  assert(frame.header.layout.size_bytes <= epoch.pool->slot_bytes());
  frame.header.slice_bytes = frame.header.layout.size_bytes;
  if (frames_produced_++ == 0) {
    first_frame_ns_ = frame.header.times.completed_ns;
  }
  last_frame_ns_ = frame.header.times.completed_ns;
  --frames_claimed_;
  for (SubscriberQueue* queue : queues_) {
    if (queue->reads_host_copy && !work.copied) {
      continue;  // it came while the frame was being published, and starts with the next one
    }
    frame.ready = queue->reads_host_copy ? work.copied : work.filled;
    enqueue(*queue, frame);
    send_waiting(*queue, wakes);
  }
  if (work.is_there()) {
    keep_until_finished(frame, work);
  }
  if (!work.filled || work.filled->state() == FenceState::done) {
    show_to_pullers(pool_slot, frame.header);
  }
  release(claimed);
  slot.stream_ = nullptr;
}

bool Stream::sleep_until(std::int64_t due_ns) {
  std::unique_lock lock(mutex_);
  std::int64_t end_ns = due_ns;
  if (options_.max_duration_ns != 0 && frames_produced_ > 0) {
    end_ns = std::min(end_ns, first_frame_ns_ + options_.max_duration_ns);
  }
  changed_.wait_until(lock, as_time_point(end_ns), [&] { return stopping_ || monotonic_ns() >= end_ns; });
  return !stopping_ && end_ns == due_ns;
}

bool Stream::wait_for_viewer() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return stopping_ || is_watched(); });
  return !stopping_;
}

// ---- Anyone's side ----

void Stream::stop() {
  const std::scoped_lock lock(mutex_);
  stopping_ = true;
  changed_.notify_all();
}

void Stream::finish() {
  const std::scoped_lock lock(mutex_);
  stopping_ = true;
  finished_ = true;
  changed_.notify_all();
  wake_sessions();
}

// ---- The sessions' side ----

bool Stream::attach(SubscriberQueue& queue, SubscriberQueue* replaced) {
  const std::scoped_lock lock(mutex_);
  assert(replaced == nullptr || (!replaced->is_replaced && std::ranges::find(queues_, replaced) != queues_.end()));
  // A viewer that changes its link has two queues until the old one is detached. It is one viewer all the time.
  const auto viewers = std::ranges::count(queues_, false, &SubscriberQueue::is_replaced);
  if (replaced == nullptr && static_cast<std::size_t>(viewers) >= options_.max_viewers) {
    return false;
  }
  const std::size_t all_slots = pool_slots_for(options_.max_viewers, options_.slots_per_viewer);
  queue.reads_host_copy = !queue.link->takes(*options_.memory);
  queue.max_held = 2 * all_slots;  // slots of the current epoch and, under `every`, of the previous one
  queue.waiting = FixedQueue<WaitingFrame>(queue.max_held);
  queue.held.reserve(queue.max_held);
  queues_.push_back(&queue);
  if (replaced != nullptr) {
    replaced->is_replaced = true;
  }
  changed_.notify_all();
  return true;
}

void Stream::detach(SubscriberQueue& queue) noexcept {
  const std::scoped_lock lock(mutex_);
  poll_released(queue);
  std::erase(queues_, &queue);
  stopping_ = stopping_ || (options_.ends_with_viewers && queues_.empty());
  while (!queue.waiting.empty()) {
    release(queue.waiting.front().slot);
    queue.waiting.pop();
    ++queue.counts.frames_skipped;
  }
  changed_.notify_all();
}

void Stream::release_held(SubscriberQueue& queue) noexcept {
  Epochs unused;
  const std::scoped_lock lock(mutex_);
  for (const PoolSlot& slot : queue.held) {
    release(slot);
  }
  queue.held.clear();
  unused = take_unused_epochs();
  changed_.notify_all();
}

void Stream::make_progress(SubscriberQueue& queue) noexcept {
  Epochs unused;
  WakeList wakes;
  const std::scoped_lock lock(mutex_);
  release_finished();
  poll_released(queue);
  send_waiting(queue, wakes);
  unused = take_unused_epochs();
  changed_.notify_all();
}

std::optional<Stream::EpochStart> Stream::epoch_to_announce(SubscriberQueue& queue) {
  const std::scoped_lock lock(mutex_);
  if (epochs_.empty()) {
    return std::nullopt;
  }
  // The next frame decides: under `every`, frames of the old epoch are sent first.
  const std::uint32_t needed = queue.waiting.empty() ? epochs_.back().pool->epoch() : queue.waiting.front().slot.epoch;
  if (needed == queue.announced_epoch) {
    return std::nullopt;
  }
  queue.announced_epoch = needed;
  const Epoch& epoch = epoch_numbered(needed);
  return EpochStart{needed, epoch.format, epoch.pool};
}

std::optional<Stream::EpochStart> Stream::epoch_after(std::uint32_t known_epoch) const {
  const std::scoped_lock lock(mutex_);
  if (epochs_.empty() || epochs_.back().pool->epoch() == known_epoch) {
    return std::nullopt;
  }
  return EpochStart{epochs_.back().pool->epoch(), epochs_.back().format, epochs_.back().pool};
}

bool Stream::add_puller(int wake_event) {
  const std::scoped_lock lock(mutex_);
  if (pullers_.size() >= max_pullers) {
    return false;
  }
  pullers_.push_back(wake_event);
  changed_.notify_all();
  return true;
}

void Stream::remove_puller(int wake_event) noexcept {
  const std::scoped_lock lock(mutex_);
  // One only: a subscription that takes the place of another one has the same event.
  if (const auto found = std::ranges::find(pullers_, wake_event); found != pullers_.end()) {
    pullers_.erase(found);
  }
}

bool Stream::epoch_ready(SubscriberQueue& queue, std::uint32_t epoch, std::uint32_t ring_slots,
                         const LinkDescription& ring) noexcept {
  WakeList wakes;
  const std::scoped_lock lock(mutex_);
  if (epoch != queue.announced_epoch) {
    return true;
  }
  if (epoch == queue.ready_epoch) {
    return false;
  }
  queue.ready_epoch = epoch;
  queue.link->epoch_ready(epoch, ring_slots, ring);
  send_waiting(queue, wakes);
  changed_.notify_all();
  return true;
}

// ---- Under the mutex ----

bool Stream::may_go_on() const noexcept {
  if (stopping_ || (options_.max_frames != 0 && frames_produced_ + frames_claimed_ >= options_.max_frames)) {
    return false;
  }
  return options_.max_duration_ns == 0 || frames_produced_ == 0 ||
         monotonic_ns() - first_frame_ns_ < options_.max_duration_ns;
}

/// An `every` stream starts only for a viewer that will receive its frames. A pulling viewer does not count, since it
/// sets no pace. A viewer that is not ready may still find its link unusable and change it, and frames waiting for that
/// link would be lost.
bool Stream::is_watched() const noexcept {
  if (options_.delivery == Delivery::every) {
    return std::ranges::any_of(queues_, [](const SubscriberQueue* queue) { return queue->ready_epoch != 0; });
  }
  return !queues_.empty() || !pullers_.empty();
}

bool Stream::has_room() const noexcept {
  assert(!epochs_.empty());
  if (epochs_.back().pool->free_count() == 0) {
    return false;
  }
  return std::ranges::none_of(queues_, [this](const SubscriberQueue* queue) {
    if (options_.one_in_flight) {
      return !queue->waiting.empty() || queue->link->frames_acknowledged() != queue->counts.frames_sent;
    }
    return queue->delivery == Delivery::every && queue->waiting.size() >= max_waiting_under_every;
  });
}

std::optional<ClaimedSlot> Stream::take_slot_if_room(WakeList& wakes) noexcept {
  if (!may_go_on() || !is_watched()) {
    return std::nullopt;
  }
  if (!has_room()) {
    poll_all_released(wakes);
  }
  return has_room() ? take_slot() : std::nullopt;
}

std::optional<ClaimedSlot> Stream::take_slot() noexcept {
  const std::shared_ptr<Pool>& pool = epochs_.back().pool;
  const auto index = pool->claim();
  assert(index);
  ++frames_claimed_;
  return ClaimedSlot(*this, pool, *index, monotonic_ns());
}

Stream::Epoch& Stream::epoch_numbered(std::uint32_t number) noexcept {
  const auto found = std::ranges::find(epochs_, number, [](const Epoch& e) { return e.pool->epoch(); });
  assert(found != epochs_.end());
  return *found;
}

void Stream::return_unpublished(const PoolSlot& slot) noexcept {
  const std::scoped_lock lock(mutex_);
  --frames_claimed_;
  release(slot);
  changed_.notify_all();
}

/// Earlier epochs with all slots released. The caller destroys them, and so frees their memory, after unlocking the
/// mutex.
Stream::Epochs Stream::take_unused_epochs() noexcept {
  Epochs unused;
  for (auto epoch = epochs_.begin(); epoch != epochs_.end() && std::next(epoch) != epochs_.end();) {
    const auto next = std::next(epoch);
    if (epoch->pool->free_count() == epoch->pool->slot_count()) {
      unused.splice(unused.end(), epochs_, epoch);
    }
    epoch = next;
  }
  return unused;
}

void Stream::wake_sessions() noexcept {
  for (const SubscriberQueue* queue : queues_) {
    signal_eventfd(queue->wake_event);
  }
  for (const int wake_event : pullers_) {
    signal_eventfd(wake_event);
  }
}

}  // namespace framewire
