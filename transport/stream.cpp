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

/// Under `every` the source stops producing once this many frames wait for the slowest viewer: enough to keep its link
/// busy.
constexpr std::size_t most_waiting_under_every = 2;

/// Viewers that pull take nothing from the others, but each is a connection and a thread.
constexpr std::size_t most_pullers = 16;

std::chrono::steady_clock::time_point as_time_point(std::int64_t monotonic) {
  return std::chrono::steady_clock::time_point(std::chrono::nanoseconds(monotonic));
}

}  // namespace

// ---- The source's side ----

Stream::Stream(StreamOptions options) : options_(std::move(options)), next_sequence_(options_.first_sequence) {
  outlets_.reserve(options_.max_viewers + 1);
  wakers_.resize(options_.max_viewers + 1);
}

Stream::~Stream() {
  assert(outlets_.empty());
}

void Stream::begin_epoch(const StreamFormat& format, std::uint64_t slot_bytes, std::uint32_t lent_slots) {
  const std::uint32_t slots = pool_slots_for(options_.max_viewers, options_.slots_per_viewer) + lent_slots;
  const std::uint32_t number = [this] {
    const std::scoped_lock lock(mutex_);
    return epochs_.empty() ? 1 : epochs_.back().pool->epoch() + 1;
  }();
  // Outside the lock: faulting in a gigabyte takes a while, and links go on with the old epoch.
  auto pool = Pool::make(number, slot_bytes != 0 ? slot_bytes : format.layout.size_bytes, slots, options_.allows_pull,
                         [this] { return is_stopping(); });
  if (!pool) {
    return;
  }
  Epochs unused;  // unmapped after the lock is gone
  const std::scoped_lock lock(mutex_);
  if (!epochs_.empty()) {
    epochs_.back().pool->retire_newest();
  }
  epochs_.push_back({format, std::move(pool), lent_slots});
  unused = take_unused_epochs();
  wake_sessions();
}

std::optional<ClaimedSlot> Stream::claim() {
  Wakes wakes(wakers_);
  std::unique_lock lock(mutex_);
  for (;;) {
    if (!may_go_on()) {
      return std::nullopt;
    }
    if (auto slot = take_slot_if_room(wakes)) {
      spin_.found(slot->begun_ns());
      return slot;
    }
    const bool looks_again = spin_.look_again(options_.wait);
    if (looks_again || !wakes.empty()) {
      lock.unlock();  // the sessions' turn
      wakes.wake();
      if (looks_again) {
        spin_.pause(options_.wait);
      }
      lock.lock();
    } else if (must_wait_to_collect()) {
      wait_for_change(lock);
    }
  }
}

void Stream::wait_for_change(std::unique_lock<std::mutex>& lock) {
  if (options_.max_duration_ns != 0 && frames_produced_ > 0) {
    changed_.wait_until(lock, as_time_point(first_frame_ns_ + options_.max_duration_ns));
  } else {
    changed_.wait(lock);
  }
}

bool Stream::takes_files() const {
  const std::scoped_lock lock(mutex_);
  return !outlets_.empty() && std::ranges::all_of(outlets_, [](const Outlet* one) { return one->link->takes_files(); });
}

void Stream::publish(ClaimedSlot slot, const FrameInfo& info) {
  Wakes wakes(wakers_);
  const std::scoped_lock lock(mutex_);
  const Epoch& epoch = epochs_.back();
  const PoolSlot claimed{slot.pool_->epoch(), slot.index_};
  const PoolSlot pool_slot = info.lent.value_or(claimed);
  assert(claimed.epoch == epoch.pool->epoch() && pool_slot.epoch == claimed.epoch);
  WaitingFrame frame{.header = {.sequence = next_sequence_++,
                                .stream = options_.number,
                                .epoch = pool_slot.epoch,
                                .user_tag = info.user_tag,
                                .pts_ns = info.pts_ns,
                                .times = {.begun_ns = slot.begun_ns_, .completed_ns = monotonic_ns()},
                                .colour = epoch.format.colour,
                                .layout = info.layout ? *info.layout : epoch.format.layout,
                                .is_stamped = info.is_stamped},
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
  for (Outlet* outlet : outlets_) {
    queue(*outlet, frame);
    offer_waiting(*outlet, wakes);
  }
  if (epoch.pool->board() != nullptr) {
    epoch.pool->put_up(pool_slot.index, frame.header);
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

bool Stream::is_stopping() const {
  const std::scoped_lock lock(mutex_);
  return !may_go_on();
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

std::optional<StreamFormat> Stream::format() const {
  const std::scoped_lock lock(mutex_);
  return epochs_.empty() ? std::nullopt : std::optional(epochs_.back().format);
}

std::int64_t Stream::produced_over_ns() const {
  const std::scoped_lock lock(mutex_);
  return last_frame_ns_ - first_frame_ns_;
}

bool Stream::has_viewer() const {
  const std::scoped_lock lock(mutex_);
  return is_watched();
}

// ---- The sessions' side ----

bool Stream::attach(Outlet& outlet, bool has_place) {
  const std::scoped_lock lock(mutex_);
  if (outlets_.size() - (has_place ? 1 : 0) >= options_.max_viewers) {
    return false;
  }
  const std::size_t all_slots = pool_slots_for(options_.max_viewers, options_.slots_per_viewer);
  outlet.most_held = 2 * all_slots;  // of the current epoch and, under `every`, of the one before
  outlet.waiting = FixedQueue<WaitingFrame>(outlet.most_held);
  outlet.held.reserve(outlet.most_held);
  outlets_.push_back(&outlet);
  changed_.notify_all();
  return true;
}

void Stream::detach(Outlet& outlet) noexcept {
  const std::scoped_lock lock(mutex_);
  collect(outlet);
  std::erase(outlets_, &outlet);
  stopping_ = stopping_ || (options_.ends_with_viewers && outlets_.empty());
  while (!outlet.waiting.empty()) {
    release(outlet.waiting.front().slot);
    outlet.waiting.pop();
    ++outlet.counts.frames_skipped;
  }
  changed_.notify_all();
}

void Stream::release_held(Outlet& outlet) noexcept {
  Epochs unused;
  const std::scoped_lock lock(mutex_);
  for (const PoolSlot& slot : outlet.held) {
    release(slot);
  }
  outlet.held.clear();
  unused = take_unused_epochs();
  changed_.notify_all();
}

void Stream::service(Outlet& outlet) noexcept {
  Epochs unused;
  Wakes wakes;
  const std::scoped_lock lock(mutex_);
  collect(outlet);
  offer_waiting(outlet, wakes);
  unused = take_unused_epochs();
  changed_.notify_all();
}

std::optional<Stream::EpochStart> Stream::epoch_to_announce(Outlet& outlet) {
  const std::scoped_lock lock(mutex_);
  if (epochs_.empty()) {
    return std::nullopt;
  }
  // The next frame decides: under `every` frames of the old epoch still go first.
  const std::uint32_t needed =
      outlet.waiting.empty() ? epochs_.back().pool->epoch() : outlet.waiting.front().slot.epoch;
  if (needed == outlet.announced_epoch) {
    return std::nullopt;
  }
  outlet.announced_epoch = needed;
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
  if (pullers_.size() >= most_pullers) {
    return false;
  }
  pullers_.push_back(wake_event);
  changed_.notify_all();
  return true;
}

void Stream::remove_puller(int wake_event) noexcept {
  const std::scoped_lock lock(mutex_);
  std::erase(pullers_, wake_event);
}

bool Stream::epoch_ready(Outlet& outlet, std::uint32_t epoch, std::uint32_t ring_slots,
                         const std::optional<RingAccess>& access) noexcept {
  Wakes wakes;
  const std::scoped_lock lock(mutex_);
  if (epoch != outlet.announced_epoch) {
    return true;
  }
  if (epoch == outlet.ready_epoch) {
    return false;
  }
  outlet.ready_epoch = epoch;
  outlet.link->epoch_ready(epoch, ring_slots, access);
  offer_waiting(outlet, wakes);
  changed_.notify_all();
  return true;
}

// ---- Waking viewers ----

void Stream::Wakes::add(SenderLink& link) noexcept {
  if (auto waker = link.take_waker()) {
    places_[count_++] = std::move(waker);
  }
}

void Stream::Wakes::wake() noexcept {
  for (const std::size_t count = std::exchange(count_, 0); auto& waker : places_.first(count)) {
    std::exchange(waker, nullptr)->wake();
  }
}

// ---- Under the mutex ----

bool Stream::may_go_on() const noexcept {
  if (stopping_ || (options_.max_frames != 0 && frames_produced_ + frames_claimed_ >= options_.max_frames)) {
    return false;
  }
  return options_.max_duration_ns == 0 || frames_produced_ == 0 ||
         monotonic_ns() - first_frame_ns_ < options_.max_duration_ns;
}

/// A stream that is delivered whole begins for somebody who can take it: not for who only pulls and so sets no pace,
/// nor for who may still find its link unusable and change it, for what had waited there would be lost.
bool Stream::is_watched() const noexcept {
  if (options_.delivery == Delivery::every) {
    return std::ranges::any_of(outlets_, [](const Outlet* outlet) { return outlet->ready_epoch != 0; });
  }
  return !outlets_.empty() || !pullers_.empty();
}

bool Stream::has_room() const noexcept {
  assert(!epochs_.empty());
  if (epochs_.back().pool->free_count() == 0) {
    return false;
  }
  return std::ranges::none_of(outlets_, [this](const Outlet* outlet) {
    if (options_.one_at_a_time) {
      return !outlet->waiting.empty() || outlet->link->frames_acknowledged() != outlet->counts.frames_sent;
    }
    return outlet->delivery == Delivery::every && outlet->waiting.size() >= most_waiting_under_every;
  });
}

std::optional<ClaimedSlot> Stream::take_slot_if_room(Wakes& wakes) noexcept {
  if (!may_go_on() || !is_watched()) {
    return std::nullopt;
  }
  if (!has_room()) {
    collect_all(wakes);
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

void Stream::collect_all(Wakes& wakes) noexcept {
  for (Outlet* outlet : outlets_) {
    collect(*outlet);
    offer_waiting(*outlet, wakes);
  }
}

void Stream::collect(Outlet& outlet) noexcept {
  std::array<PoolSlot, 32> let_go;
  for (;;) {
    const std::size_t count = outlet.link->collect(let_go);
    for (const PoolSlot& slot : std::span(let_go).first(count)) {
      const auto held = std::ranges::find(outlet.held, slot);
      assert(held != outlet.held.end());
      *held = outlet.held.back();
      outlet.held.pop_back();
      release(slot);
    }
    if (count < let_go.size()) {
      return;
    }
  }
}

void Stream::queue(Outlet& outlet, const WaitingFrame& frame) noexcept {
  ++outlet.counts.frames_produced;
  if (outlet.delivery == Delivery::latest && !outlet.waiting.empty()) {
    release(outlet.waiting.front().slot);
    outlet.waiting.pop();
    if (outlet.counts.frames_sent == 0) {
      --outlet.counts.frames_produced;  // the one that will be its first has not come yet
    } else {
      ++outlet.counts.frames_skipped;
    }
  }
  add_reference(frame.slot);
  outlet.waiting.push(frame);
}

void Stream::offer_waiting(Outlet& outlet, Wakes& wakes) noexcept {
  while (!outlet.waiting.empty() && !outlet.is_concluded) {
    WaitingFrame& frame = outlet.waiting.front();
    if (frame.slot.epoch != outlet.ready_epoch) {
      if (frame.slot.epoch != outlet.announced_epoch) {
        raise_event(outlet.wake_event);
      }
      break;
    }
    frame.header.times.offered_ns = monotonic_ns();
    const auto payload = pool_of(frame.slot.epoch).slot(frame.slot.index).first(frame.header.layout.size_bytes);
    // Every epoch begins with all its credits, so a viewer that holds on to frames of several could hold very many.
    const bool may_hold = outlet.held.size() < outlet.most_held;
    const Offer outcome =
        may_hold ? outlet.link->offer({frame.header, payload, frame.slot, frame.file}) : Offer::no_credit;
    if (outcome == Offer::accepted) {
      ++outlet.counts.frames_sent;
      outlet.counts.bytes_sent += frame.header.layout.size_bytes;
      outlet.held.push_back(frame.slot);
      outlet.waiting.pop();
      if (outlet.waiting.empty() && finished_) {
        raise_event(outlet.wake_event);
      }
    } else if (outcome == Offer::closed || source_looks_itself(outlet) || outlet.link->arm()) {
      break;
    } else {
      collect(outlet);
    }
  }
  wakes.add(*outlet.link);
}

/// A source that spins takes in credits as fast as they come: waking the session for them would only cost. Under
/// `latest` it waits for no credit.
bool Stream::source_looks_itself(const Outlet& outlet) const noexcept {
  return options_.wait == WaitMode::spin && outlet.delivery == Delivery::every && !finished_;
}

bool Stream::must_wait_to_collect() noexcept {
  bool must_wait = true;
  for (Outlet* outlet : outlets_) {
    must_wait &= outlet->link->arm();
  }
  return must_wait;
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

/// Earlier epochs whose every slot has come back: their memory goes with what this returns, when the mutex is free
/// again.
Stream::Epochs Stream::take_unused_epochs() noexcept {
  Epochs unused;
  if (epochs_.size() < 2) {
    return unused;
  }
  const auto first_unused = std::partition(epochs_.begin(), std::prev(epochs_.end()), [](const Epoch& epoch) {
    return epoch.pool->free_count() < epoch.pool->slot_count();
  });
  unused.assign(std::make_move_iterator(first_unused), std::make_move_iterator(std::prev(epochs_.end())));
  epochs_.erase(first_unused, std::prev(epochs_.end()));
  return unused;
}

void Stream::wake_sessions() noexcept {
  for (const Outlet* outlet : outlets_) {
    raise_event(outlet->wake_event);
  }
  for (const int wake_event : pullers_) {
    raise_event(wake_event);
  }
}

}  // namespace framewire
