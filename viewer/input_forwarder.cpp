#include "viewer/input_forwarder.hpp"

#include <algorithm>

#include "base/text.hpp"
#include "transport/control/token.hpp"

namespace framewire {

namespace {

InputCapture::Options capture_options(const InputOptions& options) {
  return {.host_key = options.host_key.usage, .locks_pointer = options.locks_pointer, .viewer = random_viewer_id()};
}

}  // namespace

InputForwarder::InputForwarder(const InputOptions& options, Surface& surface, Renderer& renderer,
                               const Streams& streams, const Clock& clock, Log& log)
    : options_(options),
      surface_(surface),
      renderer_(renderer),
      streams_(streams),
      clock_(clock),
      log_(log),
      capture_(capture_options(options)) {
  surface_.listen_to_input([this](const InputEvent& event) {
    const bool is_taken = capture_.take(event);
    if (!is_taken) {
      answer_click(event);
    }
    repeat_refusal(capture_.take_refusing());
    return is_taken;
  });
}

InputForwarder::~InputForwarder() {
  surface_.listen_to_input({});
}

bool InputForwarder::follow() {
  send();
  follow_pictures();
  send();
  follow_focus();
  if (note_ && clock_.now_ns() >= note_until_ns_) {
    note_.reset();
    has_new_note_ = true;
  }
  return std::exchange(has_new_note_, false);
}

void InputForwarder::leave(ViewedStream& stream) {
  invalidate();
  if (capture_.focused() == &stream) {
    capture_.release(clock_.now_ns());
    send(&stream);
  }
}

void InputForwarder::leave() {
  invalidate();
  capture_.release(clock_.now_ns());
  send();
}

// ---- The streams ----

ViewedStream* InputForwarder::find(const void* stream) const noexcept {
  const auto found = std::ranges::find(streams_, stream, [](const auto& each) { return each.get(); });
  return found == streams_.end() ? nullptr : found->get();
}

/// What a stream cannot get any more is lost. `leaving` may not be among the others any more.
void InputForwarder::send(ViewedStream* leaving) {
  const auto stream_of = [&](const void* to) { return to == leaving ? leaving : find(to); };
  capture_.send([&](const void* to, std::uint64_t session, const InputBatch& batch) {
    if (ViewedStream* const stream = stream_of(to)) {
      const bool is_sent = stream->send_input(batch, session);
      stream->statistics().input_events(is_sent ? InputFate::sent : InputFate::lost, batch.events.size());
      const std::int64_t now_ns = monotonic_ns();  // as the window has it for its events
      for (const InputEvent& event : batch.events) {
        if (is_sent) {
          stream->statistics().input_handed_over(now_ns - event.time_ns);
        }
      }
    }
  });
  for (const InputCapture::Lost& lost : capture_.take_lost()) {
    if (ViewedStream* const stream = stream_of(lost.stream)) {
      stream->statistics().input_events(InputFate::lost, lost.events);
    }
  }
}

void InputForwarder::follow_pictures() {
  std::uint64_t facts_versions = 0;
  for (const auto& stream : streams_) {
    facts_versions += stream->facts_version();
  }
  const bool has_moved = renderer_.take_seen(pictures_, pictures_version_);
  if (!has_moved && facts_versions == facts_versions_ && is_valid_) {
    return;
  }
  facts_versions_ = facts_versions;
  is_valid_ = true;
  SeenPictures pictures = pictures_;
  for (SeenPicture& picture : pictures) {
    picture.takes_input = follow_stream(picture);
  }
  capture_.see(std::move(pictures), clock_.now_ns());
}

/// Returns whether the stream of a picture takes input in the session of the picture.
bool InputForwarder::follow_stream(SeenPicture& picture) {
  const ViewedStream* const stream = find(picture.stream);
  if (stream == nullptr) {
    return false;
  }
  const SubscriberStatus status = stream->status();
  if (status.session_number != picture.session || status.state != SubscriberState::connected) {
    return false;
  }
  if (!status.input_refusal.empty()) {
    say_refusal(*stream, status);
    return false;
  }
  return true;
}

/// Once.
void InputForwarder::say_refusal(const ViewedStream& stream, const SubscriberStatus& status) {
  Refusal refusal{.stream = &stream,
                  .session = status.session_number,
                  .text = stream.peer_text() + ": " + printable(status.input_refusal)};
  if (std::ranges::find(refusals_, refusal) != refusals_.end()) {
    return;
  }
  std::erase_if(refusals_, [&](const Refusal& before) { return before.stream == &stream; });
  log_.warning(refusal.text);
  say({.stream = &stream, .text = refusal.text, .is_refusal = true});
  refusals_.push_back(std::move(refusal));
}

/// Who wants to give input to a sender that takes none is told again.
void InputForwarder::answer_click(const InputEvent& event) {
  const auto* const button = std::get_if<ButtonInput>(&event.what);
  if (button == nullptr || !button->is_pressed || button->button != InputButton::left) {
    return;
  }
  const auto hit = picture_at(pictures_, button->x, button->y);
  repeat_refusal(hit ? pictures_[*hit].stream : nullptr);
}

void InputForwarder::repeat_refusal(const void* of) {
  const auto* const stream = find(of);
  const auto refusal = std::ranges::find(refusals_, stream, &Refusal::stream);
  if (stream != nullptr && refusal != refusals_.end() && !stream->status().input_refusal.empty()) {
    say({.stream = stream, .text = refusal->text, .is_refusal = true});
  }
}

// ---- What the user sees of it ----

void InputForwarder::say(Note note) {
  note_ = std::move(note);
  note_until_ns_ = clock_.now_ns() + note_ns;
  has_new_note_ = true;
}

void InputForwarder::follow_focus() {
  const CaptureMode mode{.is_capturing = is_capturing(), .locks_pointer = capture_.is_pointer_locked()};
  const void* const before = std::exchange(focused_, capture_.focused());
  if (before == focused_ && mode == mode_) {
    return;
  }
  mode_ = mode;
  surface_.set_capture(mode);
  const ViewedStream* const stream = find(focused_);
  if (stream == nullptr) {
    surface_.set_title_note(TitleNote::input, "");
    if (note_ && note_->stream == before && !note_->is_refusal) {
      note_.reset();
      has_new_note_ = true;
    }
    return;
  }
  const std::string key(options_.host_key.name);
  const std::string name = streams_.size() > 1 ? stream->facts().name_among_others() : stream->peer_text();
  const std::string text = name + " has the input; " + key + " releases it";
  surface_.set_title_note(TitleNote::input, text);
  say({.stream = stream, .text = text + (mode.locks_pointer ? ", " + key + "+L the pointer alone" : "")});
}

}  // namespace framewire
