// Streams and their slots, behind the handles.
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "base/text.hpp"
#include "library/events.hpp"
#include "library/failure.hpp"
#include "library/formats.hpp"
#include "library/sender.hpp"

namespace framewire {

namespace {

constexpr const char* destroyed = "the sender of this stream was destroyed";

}  // namespace

// ---- Slots ----

Slot::Slot(SourceStream& stream) : place_(handles::the_table().take(this)), stream_(stream) {}

Slot::~Slot() {
  handles::the_table().give_back(place_);
}

fw_slot* Slot::open(ClaimedSlot& claimed) noexcept {
  if (!place_.reserve()) {
    return nullptr;
  }
  claimed_.emplace(std::move(claimed));
  state_.store(State::claimed, std::memory_order_relaxed);
  void* const bytes = claimed_->bytes().data();
  if (const std::uint32_t epoch = claimed_->pool_epoch(); view_.epoch != epoch) {
    fill_view(view_, claimed_->format().layout, bytes, false);
    view_.epoch = epoch;
    epoch_.store(epoch, std::memory_order_relaxed);
  } else if (view_.data != bytes) {
    move_view(view_, bytes);
  }
  view_.begun_ns = claimed_->begun_ns();
  return static_cast<fw_slot*>(place_.occupy(HandleKind::slot));
}

void Slot::outlive_handle_of(const std::shared_ptr<SourceStream>& stream) noexcept {
  kept_stream_ = stream;
  if (!place_.make_orphan()) {
    delete this;
  }
}

/// Its memory goes back before the place is free: from then on its stream may end, or give this to another claim.
void Slot::ended(handles::Place& place) noexcept {
  claimed_.reset();
  if (!place.has_orphan()) {
    place.vacate();
    return;
  }
  const std::shared_ptr<SourceStream> stream = std::move(kept_stream_);
  place.vacate();
  delete this;
}

void Slot::fill(fw_view& view) const {
  const State state = state_.load(std::memory_order_acquire);
  if (state == State::dropped) {
    throw Failure(FW_ERROR_STATE, "fw_slot_view(): the slot's frame was dropped; unref it and claim another one");
  }
  copy_view(view_, view);
  if (state == State::published) {
    view.flags |= FW_VIEW_READ_ONLY;
    view.sequence = claimed_->sequence();
    view.completed_ns = claimed_->completed_ns();
    view.tag = info_.user_tag;
    view.pts_ns = info_.pts_ns;
    view.begun_ns = info_.begun_ns != 0 ? info_.begun_ns : view.begun_ns;
  }
}

/// A frame that is dropped keeps the slot's memory until the last unref: the program may still have pointers.
fw_result Slot::publish(InUse<Slot>& use, const fw_frame_info& info) {
  if (!use.has_marked()) {
    throw Failure(FW_ERROR_STATE, "fw_slot_publish(): the slot was published before; claim another one");
  }
  if (stream_.is_finished()) {
    return FW_ENDED;
  }
  if (!is_monotonic_time(info.begun_ns)) {
    throw Failure(FW_ERROR_ARGUMENT, "fw_slot_publish(): begun_ns is " + std::to_string(info.begun_ns) +
                                         ", which is no time of CLOCK_MONOTONIC; 0 means when the slot was claimed");
  }
  info_.layout.reset();
  if (info.size_bytes != 0) {
    const FrameLayout& layout = claimed_->format().layout;
    if (layout.format != PixelFormat::bytes || info.size_bytes > layout.size_bytes) {
      throw Failure(FW_ERROR_ARGUMENT, "fw_slot_publish(): size_bytes is " + std::to_string(info.size_bytes) +
                                           "; it is for FW_PIXEL_BYTES alone, and at most the slot's " +
                                           std::to_string(layout.size_bytes));
    }
    info_.layout = bytes_layout(info.size_bytes);
  }
  info_.pts_ns = info.pts_ns;
  info_.user_tag = info.tag;
  info_.begun_ns = info.begun_ns;
  const bool is_offered = stream_.stream().publish_in_place(*claimed_, info_);
  state_.store(is_offered ? State::published : State::dropped, std::memory_order_release);
  use.keep_mark();
  return is_offered ? FW_OK : FW_CHANGED;
}

// ---- Streams ----

SourceStream::SourceStream(StreamOptions options)
    : stream_(std::move(options)),
      slots_(pool_slots_for(stream_.options().max_viewers, stream_.options().slots_per_viewer) + max_extra_slots),
      descriptor_(any_of({stream_.descriptor(), end_event_.get(), event_event_.get()})) {
  stream_.inbox().set_closing_reason("this source takes no input: its program does not ask for any");
  stream_.inbox().set_message_refusal("this source takes no messages: its program does not ask for any");
}

fw_stream* SourceStream::open(const std::shared_ptr<SourceStream>& stream) {
  fw_stream* const handle = make_handle(stream.get());
  stream->own_ = stream;
  return handle;
}

/// Nobody claims any more. Slots that the program still has keep the stream.
void SourceStream::ended(handles::Place& place) noexcept {
  const std::shared_ptr<SourceStream> own = std::move(own_);
  place.vacate();
  handles::the_table().give_back(place);
  newest_slot_ = nullptr;
  for (std::atomic<Slot*>& slot : slots_) {
    if (Slot* const made = slot.exchange(nullptr)) {
      made->outlive_handle_of(own);
    }
  }
  const std::scoped_lock lock(further_slots_mutex_);
  for (std::unique_ptr<Slot>& slot : further_slots_) {
    slot.release()->outlive_handle_of(own);
  }
  further_slots_.clear();
}

/// The object that was used last comes first, since the caches have it: a program that has one slot at a time uses no
/// other.
fw_slot* SourceStream::open_slot(ClaimedSlot& claimed) {
  Slot* const newest = newest_slot_.load(std::memory_order_acquire);
  if (fw_slot* const handle = newest != nullptr ? newest->open(claimed) : nullptr) {
    return handle;
  }
  std::atomic<Slot*>& place = slots_.at(claimed.index());
  Slot* slot = place.load(std::memory_order_acquire);
  if (slot == nullptr) {
    auto made = std::make_unique<Slot>(*this);
    if (place.compare_exchange_strong(slot, made.get())) {  // else a thread with this number of another epoch was first
      slot = made.release();
    }
  }
  if (fw_slot* const handle = slot->open(claimed)) {
    newest_slot_.store(slot, std::memory_order_release);
    return handle;
  }
  return open_further_slot(claimed);
}

fw_slot* SourceStream::open_further_slot(ClaimedSlot& claimed) {
  const std::scoped_lock lock(further_slots_mutex_);
  for (const auto& slot : further_slots_) {
    if (fw_slot* const handle = slot->open(claimed)) {
      return handle;
    }
  }
  further_slots_.push_back(std::make_unique<Slot>(*this));
  return further_slots_.back()->open(claimed);
}

std::uint32_t SourceStream::held_slots(std::uint32_t epoch) const {
  const auto count = std::ranges::count_if(slots_, [&](const std::atomic<Slot*>& place) {
    const Slot* const slot = place.load(std::memory_order_acquire);
    return slot != nullptr && slot->is_held(epoch);
  });
  const std::scoped_lock lock(further_slots_mutex_);
  const auto further = std::ranges::count_if(further_slots_, [&](const auto& slot) { return slot->is_held(epoch); });
  return static_cast<std::uint32_t>(count + further);
}

std::uint32_t SourceStream::begin(const StreamFormat& format, std::uint32_t kept_slots) {
  const std::unique_lock lock(begin_mutex_, std::try_to_lock);
  if (!lock) {
    throw Failure(FW_ERROR_STATE, "fw_stream_begin(): another thread begins a format of this stream");
  }
  throw_if_refused();
  if (is_finished()) {
    throw Failure(FW_ERROR_STATE,
                  std::string("fw_stream_begin(): ") + (is_destroyed_ ? destroyed : "the stream has ended"));
  }
  if (kept_slots > max_extra_slots) {
    throw Failure(FW_ERROR_ARGUMENT, "fw_stream_begin(): kept_slots is " + std::to_string(kept_slots) +
                                         "; it takes 0 to " + std::to_string(max_extra_slots));
  }
  const auto before = stream_.epoch_after(0);
  stream_.begin_epoch(format, 0, kept_slots);
  const auto epoch = stream_.epoch_after(before ? before->number : 0);
  if (!epoch) {
    throw Failure(FW_ERROR_STATE, "fw_stream_begin(): the stream has ended");
  }
  return epoch->number;
}

void SourceStream::refuse_to_wait_for_itself() {
  const Stream::PoolUse pool = stream_.pool_use();
  if (pool.epoch == 0) {
    throw Failure(FW_ERROR_STATE, "fw_stream_claim(): the stream has no format yet; call fw_stream_begin() first");
  }
  if (const std::uint32_t held = pool.free == 0 ? held_slots(pool.epoch) : 0; held >= pool.slots) {
    throw Failure(FW_ERROR_ALL_HELD, "fw_stream_claim(): this program holds all " + std::to_string(held) +
                                         " slots of the stream, claimed or kept; unref some");
  }
  if (stream_.claims_fill_limit()) {
    throw Failure(FW_ERROR_ALL_HELD,
                  "fw_stream_claim(): this program has claimed all frames that are left of option "
                  "frames, " +
                      std::to_string(stream_.options().max_frames) + "; publish or unref some");
  }
}

/// No viewer can come yet.
void SourceStream::refuse_to_wait_for_start() const {
  if (!is_offered_.load()) {
    throw Failure(FW_ERROR_STATE,
                  "fw_stream_claim(): no viewer can come, because the sender was not started; call fw_sender_start() "
                  "first, or claim with FW_CLAIM_UNWATCHED");
  }
}

/// Why claim() returned nothing, if that was not its deadline, and was not by chance.
std::optional<fw_result> SourceStream::outcome_without_slot() {
  if (is_destroyed_.load()) {
    throw Failure(FW_ERROR_STATE, std::string("fw_stream_claim(): ") + destroyed);
  }
  throw_if_refused();
  if (wakes_.take()) {
    return FW_WOKEN;
  }
  return is_finished() || stream_.is_stopping() ? std::optional<fw_result>(FW_ENDED) : std::nullopt;
}

/// An event loop must not be woken for the end again and again.
void SourceStream::lower_at_end() noexcept {
  if (!is_refused_.load() && !is_finished() && !stream_.is_stopping()) {
    return;
  }
  const std::scoped_lock lock(arm_mutex_);
  clear_eventfd(end_event_.get());
  stream_.silence();
}

void SourceStream::throw_if_refused() const {
  if (is_refused_.load()) {
    const auto service = the_service();
    const std::string refusal = service ? service->refusal() : std::string();
    throw Failure(FW_ERROR_REFUSED, refusal.empty() ? "the viewer that this sender dials has refused it" : refusal);
  }
}

void SourceStream::refuse() noexcept {
  is_refused_ = true;
  stream_.stop();
  signal_eventfd(end_event_.get());
}

fw_result SourceStream::claim(std::int64_t timeout_ns, std::uint32_t flags, fw_slot*& slot) {
  if ((flags & ~static_cast<std::uint32_t>(FW_CLAIM_UNWATCHED)) != 0) {
    throw Failure(FW_ERROR_ARGUMENT,
                  "fw_stream_claim(): flags is " + std::to_string(flags) + "; it takes 0 or FW_CLAIM_UNWATCHED");
  }
  const std::int64_t deadline_ns = deadline_of(timeout_ns);
  ClaimOptions options{.deadline_ns = 0, .unwatched = (flags & FW_CLAIM_UNWATCHED) != 0};
  std::optional<WakeRequests::Waiting> waiting;
  for (;;) {
    if (auto claimed = is_finished() ? std::nullopt : stream_.claim(options)) {
      if (timeout_ns == 0) {
        const std::scoped_lock lock(arm_mutex_);
        stream_.disarm();
      }
      slot = open_slot(*claimed);
      return FW_OK;
    }
    if (timeout_ns == 0) {
      lower_at_end();
    }
    if (const auto outcome = outcome_without_slot()) {
      return *outcome;
    }
    refuse_to_wait_for_itself();
    if (!options.unwatched) {
      refuse_to_wait_for_start();
    }
    if (timeout_ns == 0) {
      const std::scoped_lock lock(arm_mutex_);
      if (stream_.arm(options)) {
        return stream_.has_viewer() ? FW_NOTHING : FW_NOBODY;
      }
    } else if (deadline_ns != INT64_MAX && monotonic_ns() >= deadline_ns) {
      return stream_.has_viewer() ? FW_NOTHING : FW_NOBODY;
    }
    options.deadline_ns = deadline_ns;
    if (timeout_ns != 0 && !waiting) {
      waiting.emplace(wakes_);
    }
  }
}

void SourceStream::wake() noexcept {
  wakes_.add();
  signal_eventfd(wake_event_.get());
}

void SourceStream::pass_wakes_on() noexcept {
  constexpr std::uint64_t most = 1024;  // more than threads wait
  std::uint64_t count = 0;
  if (::read(wake_event_.get(), &count, sizeof count) != sizeof count) {
    return;
  }
  for (std::uint64_t i = 0; i < std::min(count, most); ++i) {
    stream_.wake();
  }
}

void SourceStream::offered_by(const std::shared_ptr<SenderService>& service) {
  const std::scoped_lock lock(arm_mutex_);
  service_ = service;
  is_offered_ = true;
}

std::shared_ptr<SenderService> SourceStream::the_service() const {
  const std::scoped_lock lock(arm_mutex_);
  return service_.lock();
}

void SourceStream::finish(bool is_destroyed) noexcept {
  is_destroyed_ = is_destroyed;
  is_finished_ = true;
  stream_.stop();
  stream_.finish();
  signal_eventfd(end_event_.get());
}

fw_stream_counts SourceStream::counts() const {
  const SourceInbox::Counts inbox = stream_.inbox().counts();
  fw_stream_counts counts{};
  counts.struct_size = sizeof counts;
  counts.frames_published = stream_.frames_produced();
  counts.frames_dropped = stream_.frames_dropped_at_source();
  counts.viewers = stream_.viewer_count();
  counts.slots_in_use = stream_.slots_in_use();
  counts.messages_sent = inbox.messages_sent;
  counts.messages_dropped = inbox.messages_dropped;
  counts.events_dropped = inbox.events_dropped;
  const auto service = the_service();
  for (const SessionReport& report : service ? service->reports() : std::vector<SessionReport>()) {
    if (report.stream == stream_.options().name) {
      counts.frames_sent += report.counts.frames_sent;
      counts.frames_skipped += report.counts.frames_skipped;
      counts.frames_lost += report.frames_lost;
      ++counts.sessions;
    }
  }
  return counts;
}

// ---- Events ----

fw_result SourceStream::next_event(fw_event& event) {
  const std::unique_lock lock(event_mutex_, std::try_to_lock);
  if (!lock) {
    throw Failure(FW_ERROR_STATE, "fw_stream_next_event(): another thread is in it with this stream");
  }
  if (!reader_) {
    const auto tell = [this] { signal_eventfd(event_event_.get()); };
    reader_ = stream_.inbox().open_input(tell);
    stream_.inbox().take_messages(tell);
  }
  clear_eventfd(event_event_.get());  // before it looks
  if (!take_message(event) && !take_input(event)) {
    return FW_NOTHING;
  }
  signal_eventfd(event_event_.get());  // there may be more
  return FW_OK;
}

bool SourceStream::take_message(fw_event& event) {
  auto message = stream_.inbox().take_message();
  if (!message) {
    return false;
  }
  text_ = std::move(message->body);
  event = {};
  event.type = FW_EVENT_MESSAGE;
  event.viewer_number = message->viewer;
  event.text = text_.c_str();
  return true;
}

bool SourceStream::take_input(fw_event& event) {
  if (events_.empty()) {
    auto batch = reader_->take();
    for (InputEvent& one : batch ? batch->events : std::vector<InputEvent>()) {
      events_.push_back({std::move(one), {batch->viewer, batch->epoch}});
    }
  }
  if (events_.empty()) {
    return false;
  }
  event = c_event(events_.front().first, text_);
  const auto& [viewer, epoch] = events_.front().second;
  std::copy_n(viewer.begin(), std::min(viewer.size(), sizeof event.viewer - 1), event.viewer);
  event.epoch = static_cast<std::uint32_t>(epoch);
  events_.pop_front();
  return true;
}

fw_result SourceStream::send(std::string message) {
  if (stream_.viewer_count() == 0) {
    return FW_NOBODY;
  }
  return stream_.inbox().broadcast(std::move(message)) == 0 ? FW_OK : FW_NOTHING;
}

}  // namespace framewire
