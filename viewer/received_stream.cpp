#include "viewer/received_stream.hpp"

#include <algorithm>
#include <exception>

#include "base/error.hpp"
#include "base/failure_text.hpp"
#include "base/wait.hpp"
#include "gl/frame_texture.hpp"
#include "memory/host_block.hpp"
#include "viewer/format_warnings.hpp"
#include "viewer/offered_streams.hpp"

namespace framewire {

namespace {

/// While the queue is full, the thread looks at the status this often.
constexpr std::int64_t full_queue_period_ns = 100 * ns_per_ms;
/// After as many looks the frame that waits is superseded: the drawing thread is blocked.
constexpr std::uint32_t most_looks_at_full_queue = 20;
/// How long the drawing thread may take to prepare for a format before the sender sends its frames anyway.
constexpr std::int64_t longest_preparation_ns = ns_per_s;

FrameSelection frame_selection(const ViewerOptions& options, std::optional<Delivery> delivery) noexcept {
  const bool is_paced = options.is_paced || options.is_synchronised;
  if (delivery == Delivery::every) {
    return is_paced ? FrameSelection::paced_every : FrameSelection::every;
  }
  if (is_paced) {
    return FrameSelection::paced;
  }
  return options.is_headless && !options.refresh_hz ? FrameSelection::newest_two : FrameSelection::newest;
}

/// From frame to frame; 60 a second if the stream does not say.
std::int64_t period_ns(const SubscriberStatus& status) noexcept {
  const Rational rate = status.format ? status.format->frame_rate : Rational{};
  return rate.numerator == 0 ? ns_per_s / 60 : ns_per_s * rate.denominator / rate.numerator;
}

SubscriberOptions stopped_by(const Interruption& interruption, SubscriberOptions options) {
  options.endpoint.stop_fd = interruption.descriptor();
  options.takes_slices = true;
  return options;
}

}  // namespace

ReceivedStream::ReceivedStream(const ViewerOptions& options, ViewedSource source, bool shows_name, const Drawer& drawer,
                               const Clock& clock, const Interruption& interruption, SyncGroup* sync, Log& log,
                               Listeners listeners)
    : ViewedStream(options,
                   {.peer_text = source.peer_text,
                    .status = {},
                    .lost_message = {},
                    .is_local = source.local && !source.local->host},
                   std::move(listeners)),
      wanted_stream_(source.subscriber.stream),
      is_named_by_sender_(stands_for_all_streams(source)),
      rendezvous_(source.rendezvous),
      drawer_(drawer),
      clock_(clock),
      log_(log, peer_text(), shows_name),
      recorder_(options.output.is_of_stream() ? options.output.file : std::nullopt, clock, log_, interruption,
                statistics(), this->listeners().on_end),
      subscriber_(stopped_by(interruption, std::move(source.subscriber)), log_),
      queue_(statistics(), frame_selection(options, options.session.delivery),
             {.on_frame = this->listeners().on_news,
              .on_room = [this] { room_.wake(); },
              .on_done = this->listeners().on_end}) {
  newest_ = facts();
  if (sync != nullptr) {
    queue_.synchronise(*sync);
  }
  thread_ = std::thread([this] { run(); });
}

ReceivedStream::~ReceivedStream() {
  stop();
}

// ---- The thread "fw-receive" ----

void ReceivedStream::run() noexcept {
  set_thread_name("fw-receive");
  try {
    while (!is_stopping_) {
      follow_status();
      if (!take_frame()) {
        if (newest_.status.state == SubscriberState::finished) {
          queue_.close();  // not before: the last frame's status may be the first to say so
        }
        sleep();
      }
    }
  } catch (const std::exception& error) {
    log_.error(failure_text(error));
    end(exit_status_of(error));
  }
}

/// Returns whether there may be more to take now.
bool ReceivedStream::take_frame() {
  if (queue_.is_closed() || !queue_.has_room()) {
    return false;
  }
  std::optional<ReceivedFrame> frame = subscriber_.next();
  if (!frame) {
    return false;
  }
  heard_ns_ = clock_.now_ns();
  follow_epoch(*frame);
  if (!frame->is_complete()) {
    if (frame->block()->host() != nullptr) {
      queue_.push_slice(std::move(*frame));
    }
    return true;
  }
  if (!copies_.copy(*frame, wanted_memory(*frame), [this] { return is_stopping_.load(); })) {
    return false;
  }
  statistics().frame_received(frame->header().layout.size_bytes, frame->received_ns());
  const bool skips_nothing = newest_.status.delivery == Delivery::every;
  recorder_.record(*frame, newest_.status.format,
                   skips_nothing ? Recorder::WhenFull::wait : Recorder::WhenFull::leave_out);
  queue_.set_clock_offset(clock_offset().offset_ns);  // compared again now and then
  queue_.push(std::move(*frame));
  say_ring_shortage();
  looks_at_full_queue_ = 0;
  if (has_all_frames()) {
    queue_.close();
  }
  return true;
}

/// Host memory, if the processor reads the frame, or OpenGL cannot do so in the memory of its device.
const MemoryKind& ReceivedStream::wanted_memory(const ReceivedFrame& frame) const noexcept {
  const FrameHeader& header = frame.header();
  const bool is_on_host = copies_all_ || !drawer_.reads_device_memory || options().verify || header.has_test_pattern ||
                          recorder_.is_recording() || !can_be_read_in_place(header.layout);
  return is_on_host ? host_memory() : frame.block()->kind();
}

void ReceivedStream::sleep() {
  const std::int64_t now_ns = clock_.now_ns();
  confirm_late(now_ns);
  // The subscriber may have frames that are not to be taken now, so that its wait() would return at once.
  const bool is_full = !queue_.has_room();
  if (is_full || queue_.is_closed()) {
    // Looks are counted, not time: after this process was stopped for a while, fw-render gets its chance first.
    if (is_full && ++looks_at_full_queue_ > most_looks_at_full_queue) {
      looks_at_full_queue_ = 0;
      queue_.supersede_waiting();
    }
    room_.wait_until(now_ns + full_queue_period_ns);
    return;
  }
  const bool awaits_confirmation = confirmed_epoch_ < newest_.status.epochs_begun;
  const std::int64_t confirmation_ns = awaits_confirmation ? epoch_begun_ns_ + longest_preparation_ns : INT64_MAX;
  subscriber_.wait(std::min(confirmation_ns, queue_.supersede_overdue(now_ns)), options().wait);
}

void ReceivedStream::follow_epoch(const ReceivedFrame& frame) {
  const std::pair epoch(frame.session_number(), frame.header().epoch);
  if (std::exchange(epoch_, epoch) != epoch) {
    follow_status();  // updates format and delivery for recording and frame selection
  }
}

void ReceivedStream::follow_status() {
  const std::uint64_t version = subscriber_.status_version();
  if (version == status_version_ && status_version_ != 0) {
    return;
  }
  status_version_ = version;
  const SubscriberStatus before = std::exchange(newest_.status, subscriber_.status());
  const SubscriberStatus& now = newest_.status;
  queue_.set_rule(frame_selection(options(), now.delivery));
  queue_.set_ring(now.ring_slots, period_ns(now));
  if (looks_different(before, now)) {
    say_status(before, now);
  }
  if (now.session_number != before.session_number || now.epochs_begun != before.epochs_begun) {
    heard_ns_ = clock_.now_ns();
  }
  if (is_named_by_sender_ && !now.stream_names.empty()) {
    newest_.stream = now.stream_names.front();
  }
  if (now.state == SubscriberState::lost && before.state != SubscriberState::lost) {
    newest_.lost_message = now.message;  // later connection attempts overwrite now.message
  }
  if (options().asks_cadence && before.cadence_refusal.empty() && !now.cadence_refusal.empty()) {
    log_.warning("the sender does not follow --cadence: " + printable(now.cadence_refusal));
  }
  if (now.session_number != before.session_number) {
    statistics().await_first_frame(now.connecting_since_ns);
  }
  if (now.epochs_begun != before.epochs_begun && now.format) {
    epoch_begun_ns_ = clock_.now_ns();
    say_format_warnings(*now.format);
    say_memory_notes();
  }
  set_facts(newest_);
  if (now.session_number != before.session_number) {
    listeners().on_session();
  }
  if (now.state == SubscriberState::failed) {
    end(now.exit_status);
  }
}

void ReceivedStream::say_status(const SubscriberStatus& before, const SubscriberStatus& now) {
  // dial() has said so while it waited. Any other reason is repeated, for those who read only the last line.
  const bool was_said =
      before.state == SubscriberState::waiting && before.message == now.message && now.absence != PeerAbsence::none;
  switch (now.state) {
    case SubscriberState::waiting:
      log_.line(newest_.is_local ? LogLevel::detail : LogLevel::info, now.message);
      break;
    case SubscriberState::connected:
      if (now.session_number != before.session_number) {
        log_.info(now.start_line);
        say_other_memory(now);
      }
      break;
    case SubscriberState::lost:  // the subscriber has already reported the loss; connection attempts are only
                                 // details
    case SubscriberState::finished:
      log_.detail(now.message);
      break;
    case SubscriberState::failed:
      log_.error(was_said ? "no sender came before --retry was over" : now.message);
      break;
  }
}

/// --memory never becomes another silently.
void ReceivedStream::say_other_memory(const SubscriberStatus& now) {
  if (options().session.memory.empty() || newest_.is_local || now.memory != host_memory().name()) {
    return;
  }
  std::string why = "the sender has them there or on a GPU that this one does not read, or the link carries no other";
  if (!now.memory_refusal.empty()) {
    why = now.memory_refusal;
  } else if (now.memory_access.is_by_copies()) {
    why = "the RDMA device does not reach the GPU's (" + now.memory_access.passed_over + ")";
  }
  log_.warning("--memory is cuda, and the frames come in host memory: " + why);
}

void ReceivedStream::say_memory_notes() {
  for (const MemoryKind* const memory : options().session.memory) {
    for (std::string note = memory->take_note(); !note.empty(); note = memory->take_note()) {
      log_.info(note);
    }
  }
}

void ReceivedStream::say_format_warnings(const StreamFormat& format) {
  if (const std::string colour = describe_colour(format); !colour.empty()) {
    log_.detail("the stream's pictures: " + colour);
  }
  for (const std::string& warning : format_warnings(format, drawer_.quality)) {
    if (std::ranges::find(said_format_warnings_, warning) == said_format_warnings_.end()) {
      said_format_warnings_.push_back(warning);
      log_.warning(warning);
    }
  }
}

/// Once: it comes and goes with the jitter, and the user can change it only by starting the sender again.
void ReceivedStream::say_ring_shortage() {
  if (has_said_ring_shortage_) {
    return;
  }
  if (const std::optional<RingShortage> shortage = queue_.ring_shortage()) {
    has_said_ring_shortage_ = true;
    log_.warning(describe(*shortage, options().is_synchronised));
  }
}

/// The drawing thread may be blocked by the window system. Then nothing is shown, but frames are still recorded.
void ReceivedStream::confirm_late(std::int64_t now_ns) noexcept {
  const std::uint64_t epochs_begun = newest_.status.epochs_begun;
  if (confirmed_epoch_ < epochs_begun && now_ns - epoch_begun_ns_ >= longest_preparation_ns) {
    confirm_epoch(epochs_begun);
  }
}

// ---- The drawing thread ----

void ReceivedStream::confirm_epoch(std::uint64_t epochs_begun) noexcept {
  const std::scoped_lock lock(confirming_);  // an older epoch must not be confirmed after a newer one
  if (confirmed_epoch_ < epochs_begun) {
    confirmed_epoch_ = epochs_begun;
    subscriber_.confirm_epoch(epochs_begun);
  }
}

// ---- Any thread ----

std::string ReceivedStream::stream_name() const {
  const std::vector<std::string> names = wanted_stream_.empty() ? status().stream_names : std::vector{wanted_stream_};
  return names.empty() ? std::string() : names.front();
}

std::optional<Silence> ReceivedStream::silence() const {
  if (has_all_frames()) {
    return std::nullopt;
  }
  return silence_since(heard_ns_);
}

// ---- The main thread ----

void ReceivedStream::stop() noexcept {
  is_stopping_ = true;
  recorder_.stop_waiting();
  subscriber_.wake();
  room_.wake();
  if (thread_.joinable()) {
    thread_.join();
  }
}

}  // namespace framewire
