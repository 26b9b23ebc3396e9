#include "transport/stream.hpp"

#include <algorithm>
#include <cassert>
#include <iterator>
#include <string>
#include <utility>

#include "base/error.hpp"
#include "base/file_descriptor.hpp"
#include "base/timer.hpp"
#include "transport/socket_state.hpp"

namespace framewire {

class Stream::Observer {
 public:
  explicit Observer(Stream& stream) noexcept : stream_(&stream) {}
  void forget_stream() noexcept {
    const std::scoped_lock lock(mutex_);
    stream_ = nullptr;
  }
  void notify() noexcept {
    EventList sessions;
    const std::scoped_lock lock(mutex_);
    if (stream_ != nullptr) {
      stream_->on_device_work_finished(sessions);
    }
  }

 private:
  std::mutex mutex_;  // before the stream's
  Stream* stream_;
};

Stream::Stream(StreamOptions options)
    : options_(std::move(options)),
      next_sequence_(options_.first_sequence),
      observer_(std::make_shared<Observer>(*this)) {
  if (options_.max_viewers > max_stream_viewers) {
    throw Error::failed("a stream for " + std::to_string(options_.max_viewers) +
                        " viewers is not possible; it has up to " + std::to_string(max_stream_viewers));
  }
  queues_.reserve(2 * std::size_t{options_.max_viewers});  // every viewer may change its link at once
  if (options_.max_duration_ns != 0) {
    limit_timer_ = make_timer();
    poller_ = make_poller({source_event_.get(), limit_timer_.get()});
  }
}

Stream::~Stream() {
  observer_->forget_stream();
  assert(queues_.empty());
}

/// Without the mutex: a fence that is finished already calls this at once. Without memory for that, the sessions find
/// out when they maintain their links.
void Stream::observe(const DeviceWork& work) const noexcept {
  if (!work.is_there()) {
    return;
  }
  const auto observe_one = [this](const std::shared_ptr<Fence>& fence) {
    try {
      if (fence) {
        fence->when_finished([observer = observer_](FenceState) { observer->notify(); });
      }
    } catch (const std::exception&) {
      return;
    }
  };
  observe_one(work.filled);
  observe_one(work.copied);
  if (work.slices) {
    std::ranges::for_each(work.slices->begun, observe_one);
    if (work.slices->has_failed && work.slices->begun.empty()) {
      observer_->notify();  // no fence will
    }
  }
}

// ---- Anyone's side ----

void Stream::stop() {
  const Notice notice(*this);
  const std::scoped_lock lock(mutex_);
  stopping_ = true;
  renders_.stop();
}

void Stream::finish() {
  const Notice notice(*this);
  EventList sessions;
  const std::scoped_lock lock(mutex_);
  stopping_ = true;
  finished_ = true;
  wake_sessions(sessions);
}

// ---- The sessions' side ----

bool Stream::attach(SubscriberQueue& queue, SubscriberQueue* replaced) {
  const Notice notice(*this);
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
  queue.waiting = FixedQueue<WaitingFrame>(2 * (all_slots + max_extra_slots));
  queue.held = FixedQueue<PoolSlot>(queue.max_held);
  queues_.push_back(&queue);
  if (replaced != nullptr) {
    replaced->is_replaced = true;
  }
  return true;
}

void Stream::detach(SubscriberQueue& queue) noexcept {
  const Notice notice(*this);
  const std::scoped_lock lock(mutex_);
  poll_released(queue);
  if (!finished_) {  // else nobody claims a slot again, and what was sent stays whole
    queue.link->withdraw();
  }
  std::erase(queues_, &queue);
  leaving_ += queue.held.empty() ? 0U : 1U;
  if (options_.ends_with_viewers && queues_.empty()) {
    stopping_ = true;
    renders_.stop();
  }
  if (queue.begun) {
    release(queue.begun->frame.pool_slot);
    queue.begun.reset();
    ++queue.counts.frames_skipped;
  }
  while (!queue.waiting.empty()) {
    release(queue.waiting.front().pool_slot);
    queue.waiting.drop();
    ++queue.counts.frames_skipped;
  }
}

void Stream::release_held(SubscriberQueue& queue) noexcept {
  Epochs unused;
  const Notice notice(*this);
  const std::scoped_lock lock(mutex_);
  leaving_ -= queue.held.empty() ? 0U : 1U;
  while (!queue.held.empty()) {
    release(queue.held.pop());
  }
  unused = take_unused_epochs();
}

/// Sessions call it several times a second, whether or not there is anything: that must not wake a source. But to poll
/// a link disarms it, and a source that sleeps has armed it: unless it is told, the link is armed again on its behalf.
std::int64_t Stream::make_progress(SubscriberQueue& queue) noexcept {
  Epochs unused;
  Notice notice(*this, false);
  WakeList wakes;
  const std::scoped_lock lock(mutex_);
  const std::uint64_t changes_before = room_changes_;
  look_at_source(queue);
  release_finished();
  do {
    poll_released(queue);
    send_waiting(queue, wakes);
    const std::uint64_t acknowledged = queue.link->frames_acknowledged();
    if (std::exchange(queue.acknowledged, acknowledged) != acknowledged || room_changes_ != changes_before) {
      notice.need();
      break;
    }
  } while (others_sleep() && !queue.link->arm());
  unused = take_unused_epochs();
  return queue.next_look_ns;
}

std::optional<Stream::EpochStart> Stream::epoch_to_announce(SubscriberQueue& queue) {
  const std::scoped_lock lock(mutex_);
  if (epochs_.empty()) {
    return std::nullopt;
  }
  // The next frame decides: under `every`, frames of the old epoch are sent first.
  const std::uint32_t needed = queue.begun             ? queue.begun->frame.pool_slot.epoch
                               : queue.waiting.empty() ? epochs_.back().pool->epoch()
                                                       : queue.waiting.front().pool_slot.epoch;
  // One at a time: a viewer that reads nothing must not pile up pools, whose memory its socket would keep.
  if (needed == queue.announced_epoch || queue.announced_epoch != queue.ready_epoch) {
    return std::nullopt;
  }
  queue.epochs_missed += queue.announced_epoch != queue.sent_epoch ? 1U : 0U;
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

bool Stream::add_puller(const SharedEvent& wake_event) {
  const Notice notice(*this);
  const std::scoped_lock lock(mutex_);
  if (pullers_.size() >= max_pullers) {
    return false;
  }
  pullers_.push_back(wake_event);
  return true;
}

void Stream::remove_puller(const SharedEvent& wake_event) noexcept {
  const std::scoped_lock lock(mutex_);
  // One only: a subscription that takes the place of another one has the same event.
  if (const auto found = std::ranges::find(pullers_, wake_event); found != pullers_.end()) {
    pullers_.erase(found);
  }
}

bool Stream::epoch_ready(SubscriberQueue& queue, std::uint32_t epoch, std::uint32_t ring_slots,
                         const LinkDescription& ring, bool takes_slices) noexcept {
  const Notice notice(*this);
  WakeList wakes;
  const std::scoped_lock lock(mutex_);
  if (epoch != queue.announced_epoch) {
    return true;
  }
  if (epoch == queue.ready_epoch) {
    return false;
  }
  queue.ready_epoch = epoch;
  queue.takes_slices = takes_slices;
  queue.link->epoch_ready(epoch, ring_slots, ring);
  send_waiting(queue, wakes);
  return true;
}

// ---- Under the mutex ----

Stream::Epoch& Stream::epoch_numbered(std::uint32_t number) noexcept {
  const auto found = std::ranges::find(epochs_, number, [](const Epoch& e) { return e.pool->epoch(); });
  assert(found != epochs_.end());
  return *found;
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

std::optional<RenderRequest> Stream::next_render(std::int64_t deadline_ns) {
  const auto request = renders_.next(deadline_ns);
  if (request) {
    EventList sessions;
    const std::scoped_lock lock(mutex_);
    wake_sessions(sessions);
  }
  return request;
}

void Stream::wake_sessions(EventList& sessions) const noexcept {
  for (const SubscriberQueue* queue : queues_) {
    sessions.add(queue->wake_event);
  }
  for (const SharedEvent& wake_event : pullers_) {
    sessions.add(wake_event);
  }
}

}  // namespace framewire
