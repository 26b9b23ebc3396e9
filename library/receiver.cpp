// Receivers and their frames, behind the handles.
#include "library/receiver.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/text.hpp"
#include "library/blocked_signals.hpp"
#include "library/events.hpp"
#include "library/failure.hpp"
#include "library/formats.hpp"
#include "library/option_words.hpp"
#include "memory/out_of_memory.hpp"
#include "transport/control/token.hpp"

namespace framewire {

namespace {

constexpr std::size_t most_known_formats = 16;

std::int32_t c_state(SubscriberState state) noexcept {
  switch (state) {
    case SubscriberState::waiting:
      return FW_STATE_WAITING;
    case SubscriberState::connected:
      return FW_STATE_CONNECTED;
    case SubscriberState::lost:
      return FW_STATE_LOST;
    case SubscriberState::finished:
      return FW_STATE_ENDED;
    case SubscriberState::failed:
      break;
  }
  return FW_STATE_FAILED;
}

std::string text_of(const SubscriberStatus& status) {
  return in_option_words(status.state == SubscriberState::connected ? status.start_line : status.message);
}

/// What a source would say of the event, to the program that has made it.
std::string of_own_event(std::string_view fault) {
  constexpr std::string_view of_peer = "the peer's input has ";
  fault.remove_prefix(fault.starts_with(of_peer) ? of_peer.size() : 0);
  return "fw_receiver_send_event(): the event has " + std::string(fault);
}

}  // namespace

// ---- Frames ----

HeldFrames::~HeldFrames() {
  for (std::unique_ptr<Frame>& frame : frames_) {
    frame.release()->outlive_receiver();
  }
}

fw_frame* HeldFrames::add(ReceivedFrame&& frame, const std::shared_ptr<const StreamFormat>& format,
                          std::uint32_t epoch) {
  for (std::size_t tried = 0; tried < frames_.size(); ++tried) {
    if (frames_[newest_]->is_free()) {
      return frames_[newest_]->open(std::move(frame), format, epoch);
    }
    newest_ = newest_ + 1 < frames_.size() ? newest_ + 1 : 0;
  }
  auto made = std::make_unique<Frame>();
  const std::scoped_lock lock(mutex_);
  frames_.push_back(std::move(made));
  newest_ = frames_.size() - 1;
  return frames_.back()->open(std::move(frame), format, epoch);
}

std::uint32_t HeldFrames::count(std::uint64_t session_number) const noexcept {
  return static_cast<std::uint32_t>(std::ranges::count_if(
      frames_, [&](const auto& frame) { return frame->session_number() == session_number && !frame->is_free(); }));
}

std::uint32_t HeldFrames::count() const {
  const std::scoped_lock lock(mutex_);
  return static_cast<std::uint32_t>(
      std::ranges::count_if(frames_, [&](const auto& frame) { return !frame->is_free(); }));
}

void HeldFrames::keep_all() noexcept {
  for (const auto& frame : frames_) {
    try {
      if (const auto object = frame->use()) {
        object->keep();
      }
    } catch (const std::exception&) {
      // The program learns it from fw_frame_check().
    }
  }
}

Frame::Frame() : place_(handles::the_table().take(this)) {}

Frame::~Frame() {
  handles::the_table().give_back(place_);
}

fw_frame* Frame::open(ReceivedFrame&& frame, const std::shared_ptr<const StreamFormat>& format,
                      std::uint32_t epoch) noexcept {
  session_number_ = frame.session_number();
  frame_.emplace(std::move(frame));
  if (format_ != format) {  // as long as it stays the same one, it need not be counted
    format_ = format;
  }
  epoch_ = epoch;
  is_kept_.store(false, std::memory_order_relaxed);
  return static_cast<fw_frame*>(place_.occupy(HandleKind::frame));
}

void Frame::outlive_receiver() noexcept {
  if (!place_.make_orphan()) {
    delete this;
  }
}

void Frame::ended(handles::Place& place) noexcept {
  frame_.reset();
  const bool is_orphan = place.has_orphan();
  place.vacate();  // from then on it may be another frame's, or gone
  if (is_orphan) {
    delete this;
  }
}

void Frame::fill(fw_view& view) const noexcept {
  const FrameHeader& header = frame_->header();
  fill_view(view, header.layout, frame_->payload().data(), true);
  view.sequence = header.sequence;
  view.epoch = epoch_;
  view.tag = header.user_tag;
  view.pts_ns = header.pts_ns;
  view.begun_ns = header.times.begun_ns;
  view.completed_ns = header.times.completed_ns;
  view.received_ns = frame_->received_ns();
}

StreamFormat Frame::format() const noexcept {
  StreamFormat format = format_ ? *format_ : StreamFormat{};
  format.layout = frame_->header().layout;
  format.colour = frame_->header().colour;
  return format;
}

/// A ring of this process has no descriptor that others could map.
bool Frame::is_shared() const noexcept {
  return frame_->block() && frame_->block()->descriptor() >= 0;
}

bool Frame::is_whole() const noexcept {
  return is_kept_.load() || !is_shared() || frame_->is_session_open();
}

void Frame::keep() {
  if (is_kept_.load() || !is_shared() || !frame_->is_session_open()) {
    return;
  }
  frame_->block()->host()->copy_in_place(frame_->offset_in_block_bytes(), frame_->header().layout.size_bytes);
  is_kept_ = frame_->is_session_open();  // until then nobody has written to it
}

// ---- Receivers ----

Receiver::Receiver(ReceiverOptions options, std::shared_ptr<ProgramLog> log)
    : wait_(options.wait), log_(std::move(log)), viewer_id_(random_viewer_id()) {
  options.subscriber.on_message = [this] { signal_eventfd(event_event_.get()); };
  options.subscriber.on_finished = [this] { keep_frames(); };
  {
    const BlockedSignals blocked;
    subscriber_ = std::make_unique<Subscriber>(std::move(options.subscriber), *log_);
  }
  descriptor_ = any_of({subscriber_->descriptor(), acquire_event_.get(), event_event_.get()});
  signal_eventfd(acquire_event_.get());
  signal_eventfd(event_event_.get());
}

Receiver::~Receiver() {
  keep_frames();
  try {
    subscriber_->close("{}");
  } catch (const std::exception&) {
    // Without memory for the message the sender notices the end by itself.
  }
}

void Receiver::ended(handles::Place& place) noexcept {
  delete this;
  place.vacate();
  handles::the_table().give_back(place);
}

fw_result Receiver::acquire(std::int64_t timeout_ns, fw_frame*& frame) {
  std::unique_lock lock(acquire_mutex_);
  if (is_acquiring_) {
    throw Failure(FW_ERROR_STATE, "fw_receiver_acquire(): another thread is in it with this receiver");
  }
  if (take_frame(frame)) {
    return FW_OK;
  }
  is_acquiring_ = true;
  const auto leave = [this](void*) { is_acquiring_ = false; };
  const std::unique_ptr<Receiver, decltype(leave)> at_end(this, leave);
  return wait_for_frame(timeout_ns, frame, lock);
}

/// There was none. Returns, and throws, with the lock.
fw_result Receiver::wait_for_frame(std::int64_t timeout_ns, fw_frame*& frame, std::unique_lock<std::mutex>& lock) {
  const std::int64_t deadline_ns = deadline_of(timeout_ns);
  do {
    follow_status();
    if (timeout_ns == 0 && (status_.state == SubscriberState::finished || status_.state == SubscriberState::failed)) {
      lower_acquire_event();
      subscriber_->silence();  // an event loop must not be woken for the end again and again
    }
    if (const auto outcome = outcome_without_frame()) {
      return *outcome;
    }
    refuse_to_wait_for_itself();
    if (timeout_ns == 0) {
      lower_acquire_event();
      if (subscriber_->arm()) {
        return FW_NOTHING;
      }
    } else if (deadline_ns != INT64_MAX && monotonic_ns() >= deadline_ns) {
      return FW_NOTHING;
    } else {
      lock.unlock();
      const auto relock = [](std::unique_lock<std::mutex>* unlocked) { unlocked->lock(); };
      const std::unique_ptr<std::unique_lock<std::mutex>, decltype(relock)> at_end(&lock, relock);
      subscriber_->wait(deadline_ns, wait_);
    }
  } while (!take_frame(frame));
  return FW_OK;
}

void Receiver::lower_acquire_event() noexcept {
  if (std::exchange(is_acquire_event_raised_, false)) {
    clear_eventfd(acquire_event_.get());
  }
}

bool Receiver::take_frame(fw_frame*& frame) {
  auto received = subscriber_->next();
  if (!received) {
    return false;
  }
  const std::shared_ptr<const StreamFormat>& format = format_of(*received);
  frame = held_.add(std::move(*received), format, epoch_of(*received));
  if (!std::exchange(is_acquire_event_raised_, true)) {
    signal_eventfd(acquire_event_.get());  // there may be more
  }
  return true;
}

/// Learns of formats, and has next_event() look at what is new.
void Receiver::follow_status() {
  const std::uint64_t version = subscriber_->status_version();
  if (version == status_version_ && version != 0) {
    return;
  }
  const std::uint64_t epochs_before = status_.epochs_begun;
  status_version_ = version;
  status_ = subscriber_->status();
  if (status_.epochs_begun != epochs_before && status_.format) {
    formats_.push_back(
        {status_.format_session, status_.format_epoch, std::make_shared<const StreamFormat>(*status_.format)});
    if (formats_.size() > most_known_formats) {
      formats_.pop_front();
    }
  }
  signal_eventfd(event_event_.get());
}

/// Null if two formats have begun since the last look, for the first one's frames.
const std::shared_ptr<const StreamFormat>& Receiver::format_of(const ReceivedFrame& frame) {
  static const std::shared_ptr<const StreamFormat> unknown;
  follow_status();
  const auto is_of_frame = [&](const KnownFormat& one) {
    return one.session == frame.session_number() && one.epoch == frame.header().epoch;
  };
  if (!formats_.empty() && is_of_frame(formats_.back())) {
    return formats_.back().format;
  }
  const auto known = std::ranges::find_if(formats_, is_of_frame);
  return known != formats_.end() ? known->format : unknown;
}

/// Each sender counts its epochs from 1, and a session ends with its sender.
std::uint32_t Receiver::epoch_of(const ReceivedFrame& frame) noexcept {
  if (frame.session_number() != frame_session_ || frame.header().epoch != frame_epoch_) {
    frame_session_ = frame.session_number();
    frame_epoch_ = frame.header().epoch;
    ++epochs_;
  }
  return epochs_;
}

std::optional<fw_result> Receiver::outcome_without_frame() {
  if (is_destroyed_.load()) {
    throw Failure(FW_ERROR_STATE, "fw_receiver_acquire(): the receiver was destroyed");
  }
  if (status_.state == SubscriberState::finished) {
    return FW_ENDED;
  }
  if (status_.state == SubscriberState::failed) {
    if (status_.is_out_of_memory) {
      throw OutOfMemory(status_.message);
    }
    throw Error(status_.exit_status, status_.message);
  }
  return wakes_.take() ? std::optional<fw_result>(FW_WOKEN) : std::nullopt;
}

void Receiver::refuse_to_wait_for_itself() const {
  if (status_.ring_slots == 0 || status_.format_session != status_.session_number) {
    return;
  }
  const std::uint32_t held = held_.count(status_.session_number);
  if (held >= status_.ring_slots) {
    throw Failure(FW_ERROR_ALL_HELD, "fw_receiver_acquire(): this program holds all " + std::to_string(held) +
                                         " frames that it may hold; unref some, or raise the sender's option slots");
  }
}

/// Before the sender is told that the session is over: until then nobody writes to its frames.
void Receiver::keep_frames() noexcept {
  const std::scoped_lock lock(acquire_mutex_);
  held_.keep_all();
}

void Receiver::wake() noexcept {
  wakes_.add();
  subscriber_->wake();
}

void Receiver::end() noexcept {
  is_destroyed_ = true;
  subscriber_->wake();
}

std::int32_t Receiver::state(std::string& text) const {
  const SubscriberStatus status = subscriber_->status();
  text = text_of(status);
  return c_state(status.state);
}

fw_receiver_counts Receiver::counts() const {
  const SubscriberCounts all = subscriber_->counts();
  fw_receiver_counts counts{};
  counts.struct_size = sizeof counts;
  counts.frames_received = all.frames_received;
  counts.bytes_received = all.bytes_received;
  counts.frames_lost = all.frames_lost;
  counts.frames_skipped = all.frames_skipped;
  counts.sessions = all.sessions;
  counts.messages_dropped = all.messages_dropped;
  counts.frames_held = held_.count();
  counts.slots = subscriber_->status().ring_slots;
  return counts;
}

// ---- Events ----

fw_result Receiver::next_event(fw_event& event) {
  const std::unique_lock lock(event_mutex_, std::try_to_lock);
  if (!lock) {
    throw Failure(FW_ERROR_STATE, "fw_receiver_next_event(): another thread is in it with this receiver");
  }
  clear_eventfd(event_event_.get());  // before it looks
  const SubscriberStatus status = subscriber_->status();
  event = {};
  if (const std::int32_t state = c_state(status.state);
      state != told_state_ || status.session_number != told_session_) {
    told_state_ = state;
    told_session_ = status.session_number;
    text_ = text_of(status);
    event.type = FW_EVENT_STATE;
    event.state = state;
  } else if (auto message = subscriber_->take_message()) {
    text_ = std::move(*message);
    event.type = FW_EVENT_MESSAGE;
  } else {
    return FW_NOTHING;
  }
  event.text = text_.c_str();
  signal_eventfd(event_event_.get());  // there may be more
  return FW_OK;
}

fw_result Receiver::send(const std::string& message) {
  const SubscriberStatus status = subscriber_->status();
  if (status.state != SubscriberState::connected) {
    return FW_NOBODY;
  }
  if (!status.message_refusal.empty()) {
    throw Failure(FW_ERROR_REFUSED, status.message_refusal);
  }
  return subscriber_->send_message(message) ? FW_OK : FW_NOTHING;
}

fw_result Receiver::send_event(const fw_event& event) {
  const SubscriberStatus status = subscriber_->status();
  const InputBatch batch{
      .viewer = viewer_id_, .epoch = std::max(status.format_epoch, 1U), .events = {input_event(event)}};
  try {
    read_input(to_json(batch));
  } catch (const Error& error) {
    throw Failure(FW_ERROR_ARGUMENT, of_own_event(error.what()));
  }
  if (status.state != SubscriberState::connected || !status.format) {
    return FW_NOBODY;
  }
  if (!status.input_refusal.empty()) {
    throw Failure(FW_ERROR_REFUSED, status.input_refusal);
  }
  return subscriber_->send_input(batch) ? FW_OK : FW_NOTHING;
}

}  // namespace framewire
