#include "viewer/drawing.hpp"

#include <algorithm>
#include <utility>

#include "base/error.hpp"
#include "gl/gl.hpp"

namespace framewire {

namespace {

/// The status screen is drawn only if no frame comes within this time.
constexpr std::int64_t status_delay_ns = 300 * ns_per_ms;
/// A redraw waits for a frame that is chosen within this time, and is drawn with it.
constexpr std::int64_t longest_wait_for_frame_ns = 50 * ns_per_ms;
/// Of a screen whose refreshes are not known.
constexpr std::int64_t usual_refresh_period_ns = ns_per_s / 60;
/// Poll interval for a frame that the GPU still reads.
constexpr std::int64_t gpu_poll_ns = ns_per_ms;

bool is_empty(Size size) noexcept {
  return size.width == 0 || size.height == 0;
}

/// At its end, frames that were taken from their queues and are not shown count as superseded.
class FramesInHand {
 public:
  explicit FramesInHand(std::vector<std::unique_ptr<ShownStream>>& streams) noexcept : streams_(streams) {}
  ~FramesInHand() {
    for (const auto& stream : streams_) {
      if (stream->has_frame_in_hand()) {
        stream->settle();
      }
    }
  }
  FramesInHand(const FramesInHand&) = delete;
  FramesInHand& operator=(const FramesInHand&) = delete;

 private:
  std::vector<std::unique_ptr<ShownStream>>& streams_;
};

}  // namespace

Drawing::Drawing(Surface& surface, FrameTimesFile& frame_times, const Clock& clock, const DrawingOptions& options)
    : surface_(surface),
      frame_times_(frame_times),
      clock_(clock),
      options_(options),
      started_ns_(clock.now_ns()),
      copies_(make_gpu_copies(options.memory, options.open_device_memory)),
      painters_(options.downscale),
      schedule_(clock, options.first_draw_delay_ns),
      upload_method_(FrameTexture().method()) {
  if (options.recorder != nullptr) {
    recording_.emplace(*options.recorder, options.recorded_rate);
    composition_.keep_pictures(true);
  }
}

void Drawing::show(const ShownScene& shown) {
  const bool is_first = streams_so_far_ == 0;
  Streams before = std::exchange(streams_, {});
  for (const auto& stream : shown.streams) {
    const auto known = std::ranges::find_if(before, [&](const auto& old) { return old && old->stream() == stream; });
    streams_.push_back(known != before.end()
                           ? std::move(*known)
                           : std::make_unique<ShownStream>(stream, painters_, frame_times_, clock_, options_,
                                                           copies_.get(), streams_so_far_++));
  }
  for (const auto& gone : before) {
    if (depth_ && gone) {
      depth_->forget(*gone);
    }
  }
  follow_depth(shown.scene, is_first);
  composition_.show(shown.scene, shown.selection);
  composition_.show_note(shown.noted_layer, shown.note);
  schedule_.request_within(delay_of_new_scene_ns());
}

/// A layer that is dragged makes scenes faster than a screen shows them.
std::int64_t Drawing::delay_of_new_scene_ns() const noexcept {
  if (!surface_.may_be_visible()) {
    return options_.first_draw_delay_ns;
  }
  const std::int64_t period_ns = refresh_period_ns_ > 0 ? refresh_period_ns_ : usual_refresh_period_ns;
  return drawn_ns_ == 0 ? 0 : std::max<std::int64_t>(drawn_ns_ + period_ns - clock_.now_ns(), 0);
}

void Drawing::draw() {
  follow_recordings(clock_.now_ns());
  if (streams_.empty()) {
    return;
  }
  follow_facts();
  follow_visibility();
  if (depth_) {
    const std::int64_t period_ns = refresh_period_ns_ > 0 ? refresh_period_ns_ : usual_refresh_period_ns;
    const bool has_all = options_.most_sets != 0 && set_counts()->shown >= options_.most_sets;
    depth_->follow(streams_, {.asks = !draws_nothing() && !has_all, .chooses = !has_all}, period_ns, clock_.now_ns());
  }
  upload_kept();
  const bool has_shown = show_frames();
  request_for_silence(clock_.now_ns());
  for (const auto& stream : streams_) {
    stream->upload_slices(!draws_nothing());
  }
  if (!has_shown && schedule_.is_due() && !awaits_choice(clock_.now_ns())) {
    redraw();
    warm_up();
  }
}

std::int64_t Drawing::due_ns() {
  if (streams_.empty()) {
    return INT64_MAX;
  }
  const std::int64_t now_ns = clock_.now_ns();
  const std::int64_t silence_ns = request_for_silence(now_ns);
  const std::int64_t frame_ns = choice_ns(now_ns).value_or(INT64_MAX);
  std::int64_t due_ns = awaits_choice(now_ns) ? frame_ns : std::min(schedule_.due_ns(), frame_ns);
  if (depth_) {
    due_ns = std::min(due_ns, depth_->due_ns());
  }
  due_ns = std::min({due_ns, recordings_due_ns(now_ns), silence_ns, shaders_due_ns(now_ns)});
  bool is_released = true;
  for (const auto& stream : streams_) {
    is_released &= stream->layer().release_finished();
    due_ns = std::min(due_ns, stream->kept_until_ns());
  }
  return is_released ? due_ns : std::min(due_ns, now_ns + gpu_poll_ns);
}

void Drawing::release() {
  finish_recordings();
  follow_seen_pictures();
  for (const auto& stream : streams_) {
    stream->release_memory();
  }
}

Quality Drawing::quality() const noexcept {
  return std::ranges::any_of(streams_, [](const auto& stream) { return stream->layer().quality() == Quality::good; })
             ? Quality::good
             : Quality::fast;
}

std::vector<std::string> Drawing::take_warnings() {
  std::vector<std::string> warnings = std::exchange(warnings_, {});
  const auto add = [&](std::string warning) {
    if (!warning.empty()) {
      warnings.push_back(std::move(warning));
    }
  };
  for (const auto& stream : streams_) {
    add(stream->take_warning());
  }
  add(painters_.take_warning());
  if (depth_) {
    add(depth_->take_warning());
  }
  return warnings;
}

// ---- Following the streams ----

void Drawing::follow_facts() {
  for (std::size_t i = 0; i < streams_.size(); ++i) {
    streams_[i]->follow_facts();
    follow_news(i);
  }
}

void Drawing::follow_news(std::size_t index) {
  const ShownStream::News news = streams_[index]->take_news();
  if (news.looks_different) {
    // Frames usually follow a new session at once; drawing the waiting picture would delay the first one.
    const bool is_connected = streams_[index]->facts().status.state == SubscriberState::connected;
    schedule_.request_within(!surface_.may_be_visible() || is_connected ? status_delay_ns : 0);
  }
  if (news.has_format) {
    prepare_for_format(index);
  }
}

/// The first frame of a format costs much more than later ones. The sender holds it back until this is done.
void Drawing::prepare_for_format(std::size_t index) {
  const auto& format = streams_[index]->facts().status.format;
  if (format && format->layout.format != PixelFormat::bytes && !draws_nothing()) {
    prepare(index, surface_.begin());
    if (surface_.may_be_visible() && composition_.draws_directly()) {
      schedule_.request();  // over what that drew
    }
  }
  streams_[index]->confirm_format();
}

/// One of several streams that cannot be drawn leaves the others alone.
void Drawing::prepare(std::size_t index, Size size) {
  if (is_empty(size)) {
    return;
  }
  try {
    composition_.prepare(size, composed(), index);
  } catch (const Error& error) {
    if (streams_.size() == 1 || find_gl_loss()) {
      throw;
    }
    give_up(*streams_[index], error.what());
  }
}

void Drawing::give_up(ShownStream& stream, const std::string& reason) {
  stream.set_defect(reason);
  warnings_.push_back(stream.facts().peer_text + ": " + reason);
  schedule_.request();
}

/// The same with what draw_picture() could not draw.
void Drawing::give_up_undrawn() {
  for (const auto& stream : streams_) {
    const std::optional<Error> failure = stream->layer().take_failure();
    if (!failure) {
      continue;
    }
    if (streams_.size() == 1 || find_gl_loss()) {
      throw *failure;
    }
    if (stream->has_frame_in_hand()) {
      stream->settle();
    }
    give_up(*stream, failure->what());
  }
}

Composition::Streams Drawing::composed() {
  composed_.clear();
  for (const auto& stream : streams_) {
    composed_.push_back(stream->composed());
  }
  return composed_;
}

// ---- Frames ----

/// Pictures of several streams are presented once for each refresh, if those are known.
bool Drawing::follows_refreshes() const noexcept {
  return surface_.is_synchronised() || options_.asks_cadence || streams_.size() > 1 ||
         std::ranges::any_of(streams_,
                             [](const auto& stream) { return stream->stream()->queue().pacing().has_value(); });
}

/// When the frames that wait are to be chosen, or newer ones in their place; nothing if none waits.
std::optional<std::int64_t> Drawing::choice_ns(std::int64_t now_ns) {
  std::optional<std::int64_t> earliest_ns;
  for (const auto& stream : streams_) {
    if (const auto due_ns = stream->due_ns(now_ns)) {
      earliest_ns = std::min(*due_ns, earliest_ns.value_or(INT64_MAX));
    }
  }
  if (!earliest_ns) {
    return std::nullopt;
  }
  const std::optional<Refresh> refresh =
      follows_refreshes() && !draws_nothing() ? surface_.next_refresh(now_ns) : std::nullopt;
  refresh_period_ns_ = refresh ? refresh->period_ns : 0;
  const std::int64_t choice_ns = refreshes_.choice_ns(refresh, now_ns);
  return refresh ? choice_ns : std::max(choice_ns, *earliest_ns);
}

/// Whether a frame will be drawn so soon that nothing else is drawn before: that would take its refresh.
bool Drawing::awaits_choice(std::int64_t now_ns) {
  const std::optional<std::int64_t> choice = choice_ns(now_ns);
  return choice && *choice - now_ns < longest_wait_for_frame_ns;
}

/// Returns whether there was a frame.
bool Drawing::show_frames() {
  const std::int64_t now_ns = clock_.now_ns();
  const std::optional<std::int64_t> choice = choice_ns(now_ns);
  if (choice.value_or(INT64_MAX) > now_ns) {
    return false;
  }
  const FramesInHand in_hand(streams_);
  bool has_frame = false;
  for (std::size_t i = 0; i < streams_.size(); ++i) {
    // By the time that the choice was planned for: how late this thread woke up must not change what is shown.
    if (streams_[i]->take(*choice, refresh_period_ns_)) {
      has_frame = true;
      follow_news(i);
    }
  }
  refreshes_.choice_made();
  if (has_frame) {
    show_frames_in_hand();
  }
  return has_frame;
}

void Drawing::show_frames_in_hand() {
  const std::int64_t begun_ns = clock_.now_ns();
  for (const bool are_drawn_here : {false, true}) {  // so that the GPU is done with what was received before it draws
    for (const auto& stream : streams_) {
      if (stream->has_frame_in_hand() && stream->is_drawn_here() == are_drawn_here) {
        take_to_picture(*stream);
      }
    }
  }
  if (std::ranges::none_of(streams_, [](const auto& stream) { return stream->has_frame_in_hand(); })) {
    return;
  }
  if (depth_ && !depth_->merge(streams_, clock_.now_ns())) {
    if (const auto contradiction = depth_->take_contradiction()) {
      give_up(*contradiction->stream, contradiction->text);
    }
    return;  // FramesInHand counts them as superseded
  }
  draw_picture(surface_.begin(), false);
  const auto presented = present();
  if (!presented) {
    fail_without_gpu();
  }
  refreshes_.drawn(presented->drawn_ns - begun_ns);
  record_picture(presented->shown_ns);
  for (std::size_t i = 0; i < streams_.size(); ++i) {
    // A layer that nobody sees has its newest picture for the moment when it is seen. FramesInHand counts it.
    if (streams_[i]->has_frame_in_hand() && composition_.shows(i)) {
      composition_.frame_shown(i, streams_[i]->shown(*presented));
    }
  }
  plan_next_redraw(0);
}

/// Frames that are not seen are still received and released, so that the sender is not held back.
void Drawing::take_to_picture(ShownStream& stream) {
  if (!stream.defect().empty() || (draws_nothing() && depth_)) {
    stream.pass_unseen();
  } else if (draws_nothing()) {
    stream.keep_unseen();
  } else if (stream.upload()) {
    upload_method_ = stream.layer().method();
  } else {
    fail_to_upload(stream);
  }
}

void Drawing::upload_kept() {
  for (const auto& stream : streams_) {
    if (!stream->upload_kept(!draws_nothing())) {
      fail_to_upload(*stream);
    }
  }
}

/// One of several streams that cannot be drawn leaves the others alone.
void Drawing::fail_to_upload(ShownStream& stream) {
  if (streams_.size() == 1) {
    throw Error::failed(stream.upload_fault());
  }
  stream.settle();
  give_up(stream, stream.upload_fault());
}

// ---- Pictures without a new frame ----

bool Drawing::draws_nothing() const noexcept {
  return surface_.is_hidden() || is_empty(surface_.size());
}

/// The picture is to say that a stream's frames stay away: no frame has it drawn then. Returns when that will be.
std::int64_t Drawing::request_for_silence(std::int64_t now_ns) {
  std::int64_t due_ns = INT64_MAX;
  if (draws_nothing() || depth_) {
    return due_ns;
  }
  for (const auto& stream : streams_) {
    const std::optional<Silence> silence = stream->stream()->silence();
    if (silence && silence->said_from_ns > now_ns) {
      due_ns = std::min(due_ns, silence->said_from_ns);
    } else if (silence && silence->said_from_ns > composed_ns_) {
      schedule_.request();
    }
  }
  return due_ns;
}

void Drawing::redraw() {
  if (draws_nothing()) {  // when the window returns, an event requests a redraw
    schedule_.drawn(0, RedrawSchedule::never_ns);
    return;
  }
  const std::int64_t cpu_before_ns = process_cpu_ns();
  draw_picture(surface_.begin(), false);
  const auto presented = present();
  if (!presented) {
    fail_without_gpu();
  }
  record_picture(presented->shown_ns);
  plan_next_redraw(process_cpu_ns() - cpu_before_ns);
}

void Drawing::plan_next_redraw(std::int64_t cost_ns) {
  drawn_ns_ = clock_.now_ns();
  schedule_.drawn(cost_ns, step_ns());
  if (std::ranges::any_of(streams_, [](const auto& stream) { return stream->layer().is_provisional(); })) {
    schedule_.request_within(Layer::calm_ns);
  }
}

/// Drivers finish compiling shaders on first use. Doing that while there is no sender delays no frame.
void Drawing::warm_up() {
  const bool are_waiting = std::ranges::all_of(
      streams_, [](const auto& stream) { return stream->facts().status.state == SubscriberState::waiting; });
  if (!is_warm_ && are_waiting && clock_.now_ns() - started_ns_ > status_delay_ns) {
    is_warm_ = true;
    streams_[0]->layer().warm_up(surface_.begin());
    composition_.forget_surface();
    schedule_.request();  // over what that drew
  }
}

void Drawing::draw_picture(Size size, bool is_capture) {
  const Composition::Streams streams = composed();
  if (is_empty(size)) {  // the window was minimised after draws_nothing()
    return;
  }
  const std::int64_t now_ns = clock_.now_ns();
  composed_ns_ = is_capture ? composed_ns_ : now_ns;
  composition_.draw({.size = size,
                     .keeps_content = surface_.keeps_content() && !is_capture,
                     .merged = depth_ && depth_->picture() ? &*depth_->picture() : nullptr,
                     .painters = &painters_},
                    streams, now_ns);
  give_up_undrawn();
  if (options_.tells_places && !is_capture) {
    note_places();
  }
}

void Drawing::note_places() {
  seen_.clear();
  for (std::size_t i = 0; i < streams_.size(); ++i) {
    const PicturePlace at = composition_.place_of(composed_[i], i);
    if (!is_empty(at.visible)) {
      const auto& [session, epoch] = streams_[i]->epoch();
      seen_.push_back({.stream = streams_[i]->stream().get(),
                       .at = at,
                       .frame = streams_[i]->layer().frame_size(),
                       .session = session,
                       .epoch = epoch});
    }
  }
}

/// Of the picture that was drawn last.
std::int64_t Drawing::step_ns() const noexcept {
  return surface_.may_be_visible() ? composition_.step_ns(composed_) : RedrawSchedule::never_ns;
}

/// Returns nothing if the GPU is lost: the drawing will never be visible.
std::optional<Surface::Presented> Drawing::present() {
  const std::optional<Surface::Presented> presented = surface_.present();
  follow_seen_pictures();
  gpu_loss_ = find_gl_loss();
  return gpu_loss_ ? std::nullopt : presented;
}

/// Some time later the window system may say when a picture was seen.
void Drawing::follow_seen_pictures() {
  while (const auto seen = surface_.take_refresh()) {
    frame_times_.picture_seen(*seen);
  }
}

void Drawing::fail_without_gpu() {
  gpu_loss_ = gpu_loss_.value_or(std::string(lost_context));
  throw Error::failed(explain_gpu_loss(*gpu_loss_));
}

Image Drawing::capture() {
  Image picture = surface_.capture([this](Size size) { draw_picture(size, true); });
  if (gpu_loss_ || find_gl_loss()) {
    throw Error::failed("the GPU was lost");
  }
  return picture;
}

Image Drawing::capture_last() {
  if (!gpu_loss_ && schedule_.due_ns() != RedrawSchedule::never_ns) {  // the latest picture has not been drawn yet
    redraw();
  }
  return capture();
}

}  // namespace framewire
