#include "viewer/drawing.hpp"

#include <algorithm>
#include <string>

#include "base/error.hpp"
#include "gl/gl.hpp"

namespace framewire {

namespace {

/// The status screen is drawn only if no frame comes within this time.
constexpr std::int64_t status_delay_ns = 300 * ns_per_ms;
/// A redraw waits for a frame that is chosen within this time, and is drawn with it.
constexpr std::int64_t longest_wait_for_frame_ns = 50 * ns_per_ms;
/// Poll interval for a frame that the GPU still reads.
constexpr std::int64_t gpu_poll_ns = ns_per_ms;

bool is_empty(Size size) noexcept {
  return size.width == 0 || size.height == 0;
}

/// Counts the frame that was taken from a queue as superseded, unless it is shown before.
class FrameInHand {
 public:
  FrameInHand(FrameQueue& queue, Statistics& statistics) noexcept : queue_(queue), statistics_(statistics) {}
  ~FrameInHand() {
    queue_.settle([this] { statistics_.frame_superseded(); });
  }
  FrameInHand(const FrameInHand&) = delete;
  FrameInHand& operator=(const FrameInHand&) = delete;

  void shown(const FrameTimes& sender, const ShownTimes& here, std::int64_t clock_offset_ns) noexcept {
    queue_.settle([&] { statistics_.frame_shown(sender, here, clock_offset_ns); });
  }

 private:
  FrameQueue& queue_;
  Statistics& statistics_;
};

std::string not_a_picture(const FrameLayout& layout) {
  if (layout.format == PixelFormat::bytes) {
    return "this stream carries bytes, not pictures; there is nothing to draw";
  }
  return "a frame of " + std::to_string(layout.width) + "x" + std::to_string(layout.height) + " " +
         std::string(info(layout.format).name) + " cannot be drawn by " + gl_renderer() + "; send a smaller --size";
}

}  // namespace

Drawing::Drawing(Surface& surface, Statistics& statistics, FrameTimesFile& frame_times, const Clock& clock,
                 const DrawingOptions& options)
    : surface_(surface),
      statistics_(statistics),
      frame_times_(frame_times),
      clock_(clock),
      started_ns_(clock.now_ns()),
      layer_(options.verify, statistics, options.quality),
      composition_(layer_, statistics),
      schedule_(clock, options.first_draw_delay_ns),
      asks_cadence_(options.asks_cadence) {}

void Drawing::toggle_panel() noexcept {
  composition_.toggle_panel();
  schedule_.request();
}

void Drawing::draw() {
  if (stream_ == nullptr) {
    return;
  }
  follow_facts();
  const bool has_shown = show_frame();
  upload_slices();
  if (!has_shown && schedule_.is_due() && !awaits_choice(clock_.now_ns())) {
    redraw();
    warm_up();
  }
}

std::int64_t Drawing::due_ns() {
  if (stream_ == nullptr) {
    return INT64_MAX;
  }
  const std::int64_t now_ns = clock_.now_ns();
  const std::int64_t frame_ns = choice_ns(now_ns).value_or(INT64_MAX);
  const std::int64_t due_ns = awaits_choice(now_ns) ? frame_ns : std::min(schedule_.due_ns(), frame_ns);
  return layer_.release_finished() ? due_ns : std::min(due_ns, now_ns + gpu_poll_ns);
}

// ---- Following the stream ----

void Drawing::follow_facts() {
  if (facts_version_ == stream_->facts_version()) {
    return;
  }
  facts_version_ = stream_->facts_version();
  const SubscriberStatus before = std::exchange(facts_, stream_->facts()).status;
  const SubscriberStatus& now = facts_.status;
  if (looks_different(before, now)) {
    // Frames usually follow a new session at once; drawing the waiting picture would delay the first one.
    const bool can_wait = !surface_.may_be_visible() || now.state == SubscriberState::connected;
    schedule_.request_within(can_wait ? status_delay_ns : 0);
  }
  if (now.session_number != before.session_number) {
    cadence_.restart();
  }
  if (now.state == SubscriberState::lost && before.state != SubscriberState::lost) {
    layer_.forget_memory();
  }
  if (now.epochs_begun != before.epochs_begun) {
    prepare_for_epoch();
  }
}

void Drawing::follow_epoch(const ReceivedFrame& frame) noexcept {
  const std::pair epoch(frame.session_number(), frame.header().epoch);
  if (std::exchange(epoch_, epoch) != epoch) {
    layer_.forget_memory();
  }
}

/// The first frame of a format costs much more than later ones. The sender holds it back until this is done.
void Drawing::prepare_for_epoch() {
  const SubscriberStatus& status = facts_.status;
  if (status.format && status.format->layout.format != PixelFormat::bytes && !draws_nothing()) {
    surface_.begin();
    layer_.prepare(*status.format, surface_.size());
    if (surface_.may_be_visible()) {
      schedule_.request();  // over what that drew
    }
  }
  stream_->confirm_epoch(status.epochs_begun);
}

ChromaLocation Drawing::chroma_location() const noexcept {
  return facts_.status.format ? facts_.status.format->chroma_location : ChromaLocation::unspecified;
}

// ---- Frames ----

/// When the frame that waits is to be chosen, or a newer one in its place; nothing if none waits.
std::optional<std::int64_t> Drawing::choice_ns(std::int64_t now_ns) {
  const std::optional<std::int64_t> due_ns = stream_->queue().due_ns();
  if (!due_ns) {
    return std::nullopt;
  }
  const bool follows_refreshes = surface_.is_synchronised() || asks_cadence_ || stream_->queue().pacing();
  const std::optional<Refresh> refresh =
      follows_refreshes && !draws_nothing() ? surface_.next_refresh(now_ns) : std::nullopt;
  refresh_period_ns_ = refresh ? refresh->period_ns : 0;
  const std::int64_t choice_ns = refreshes_.choice_ns(refresh, now_ns);
  return refresh ? choice_ns : std::max(choice_ns, *due_ns);
}

/// Whether a frame will be drawn so soon that nothing else is drawn before: that would take its refresh.
bool Drawing::awaits_choice(std::int64_t now_ns) {
  const std::optional<std::int64_t> choice = choice_ns(now_ns);
  return choice && *choice - now_ns < longest_wait_for_frame_ns;
}

/// Returns whether there was a frame.
bool Drawing::show_frame() {
  const std::int64_t now_ns = clock_.now_ns();
  const std::optional<std::int64_t> choice = choice_ns(now_ns);
  if (choice.value_or(INT64_MAX) > now_ns) {
    return false;
  }
  // By the time that the choice was planned for: how late this thread woke up must not change what is shown.
  std::optional<ReceivedFrame> frame = stream_->queue().take(*choice);
  refreshes_.choice_made();
  if (!frame) {
    return false;
  }
  follow_facts();  // those of the frame are there now
  ask_cadence(*frame, *choice);
  show(std::move(*frame));
  return true;
}

/// Has the sender render a little later or earlier, if frames wait for their choice.
void Drawing::ask_cadence(const ReceivedFrame& frame, std::int64_t choice_ns) {
  if (!asks_cadence_ || !facts_.status.format) {
    return;
  }
  if (refresh_period_ns_ == 0) {
    constexpr int enough_frames = 300;  // a server's first answers take some
    if (++frames_without_refresh_ == enough_frames) {
      warning_ = "--cadence does nothing here: the refreshes of this screen are not known";
    }
    return;
  }
  const Rational rate = facts_.status.format->frame_rate;
  const double frames_per_s = static_cast<double>(rate.numerator) / std::max<double>(rate.denominator, 1);
  const auto period_ns = CadenceControl::period_for(frames_per_s, refresh_period_ns_);
  if (!period_ns) {
    if (!std::exchange(has_said_misfit_, true)) {
      warning_ = "--cadence does nothing here: the stream's rate is not that of the screen, nor a whole part of it";
    }
    return;
  }
  cadence_.set_refused(!facts_.status.cadence_refusal.empty());
  if (const auto request = cadence_.frame_chosen(frame.received_ns(), choice_ns, *period_ns, refresh_period_ns_)) {
    stream_->ask_cadence(*request);
  }
}

std::string Drawing::take_warning() {
  std::string warning = std::exchange(warning_, {});
  return warning.empty() ? layer_.take_warning() : warning;
}

void Drawing::show(ReceivedFrame frame) {
  FrameInHand in_hand(stream_->queue(), statistics_);
  follow_epoch(frame);
  if (draws_nothing()) {  // frames are still received and released, so that the sender is not held back
    check_unseen(frame, statistics_);
    return;
  }
  const FrameHeader header = frame.header();
  ShownTimes here{.received_ns = frame.received_ns(), .selected_ns = clock_.now_ns()};
  upload(std::move(frame));
  here.uploaded_ns = clock_.now_ns();
  surface_.begin();
  draw_picture();
  const auto presented = present();
  if (!presented) {
    fail_without_gpu();
  }
  here.shown_ns = presented->shown_ns;
  refreshes_.drawn(presented->drawn_ns - here.selected_ns);
  layer_.release_finished();
  const std::int64_t offset_ns = stream_->clock_offset().offset_ns;
  in_hand.shown(header.times, here, offset_ns);
  frame_times_.frame_shown(header, here, offset_ns);
  composition_.frame_shown(here.shown_ns + offset_ns - header.times.completed_ns);
  plan_next_redraw(0);
}

void Drawing::upload(ReceivedFrame frame) {
  const FrameLayout layout = frame.header().layout;
  Layer::Upload result = layer_.upload(std::move(frame), chroma_location());
  if (result != Layer::Upload::done && (gpu_loss_ = find_gl_loss())) {
    result = Layer::Upload::gpu_is_lost;  // the cause of any other failure
  }
  switch (result) {
    case Layer::Upload::done:
      return;
    case Layer::Upload::gpu_is_lost:
      fail_without_gpu();
    case Layer::Upload::not_a_picture:
      throw Error::failed(not_a_picture(layout));
    case Layer::Upload::gpu_hangs:
      throw Error::failed("the GPU (" + gl_renderer() + ") has not finished a picture for 2 s");
  }
}

/// The newest frame's slices are uploaded as they arrive, unless an earlier frame is still to be shown: its own slices
/// may be uploaded already.
void Drawing::upload_slices() {
  if (stream_->queue().has_frame()) {
    return;
  }
  stream_->queue().take_slices(slices_);
  for (const ReceivedFrame& slice : slices_) {
    follow_epoch(slice);
    layer_.slice_arrived(slice, chroma_location(), !draws_nothing());
  }
  slices_.clear();
}

// ---- Pictures without a new frame ----

bool Drawing::draws_nothing() const noexcept {
  return surface_.is_hidden() || is_empty(surface_.size());
}

void Drawing::redraw() {
  if (draws_nothing()) {  // when the window returns, an event requests a redraw
    schedule_.drawn(0, RedrawSchedule::never_ns);
    return;
  }
  const std::int64_t cpu_before_ns = process_cpu_ns();
  surface_.begin();
  draw_picture();
  if (!present()) {
    fail_without_gpu();
  }
  plan_next_redraw(process_cpu_ns() - cpu_before_ns);
}

void Drawing::plan_next_redraw(std::int64_t cost_ns) {
  schedule_.drawn(cost_ns, step_ns());
  if (layer_.is_provisional()) {
    schedule_.request_within(Layer::calm_ns);
  }
}

/// Drivers finish compiling shaders on first use. Doing that while there is no sender delays no frame.
void Drawing::warm_up() {
  if (!is_warm_ && facts_.status.state == SubscriberState::waiting && clock_.now_ns() - started_ns_ > status_delay_ns) {
    is_warm_ = true;
    surface_.begin();
    layer_.warm_up(surface_.size());
    schedule_.request();  // over what that drew
  }
}

void Drawing::draw_picture() {
  composition_.draw(surface_.size(), facts_, stream_->counts(), stream_->queue().pacing(), clock_.now_ns());
}

std::int64_t Drawing::step_ns() const noexcept {
  return surface_.may_be_visible() ? composition_.step_ns(facts_) : RedrawSchedule::never_ns;
}

/// Returns nothing if the GPU is lost: the drawing will never be visible.
std::optional<Surface::Presented> Drawing::present() {
  const std::optional<Surface::Presented> presented = surface_.present();
  gpu_loss_ = find_gl_loss();
  return gpu_loss_ ? std::nullopt : presented;
}

void Drawing::fail_without_gpu() {
  gpu_loss_ = gpu_loss_.value_or("the GPU draws no more (its OpenGL context is lost)");
  throw Error::failed(explain_gpu_loss(*gpu_loss_));
}

Image Drawing::capture() {
  Image picture = surface_.capture([this] { draw_picture(); });
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
