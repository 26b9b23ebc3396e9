#include "viewer/program.hpp"

#include <algorithm>
#include <ctime>

#include "base/error.hpp"
#include "gl/gl.hpp"
#include "viewer/format_warnings.hpp"
#include "viewer/open_surface.hpp"
#include "viewer/screenshot.hpp"

namespace framewire {

namespace {

constexpr std::int64_t live_line_period_ns = ns_per_s;
constexpr std::int64_t plain_line_period_ns = 10 * ns_per_s;
/// The status screen is drawn only if no frame comes within this time.
constexpr std::int64_t status_delay_ns = 300 * ns_per_ms;
/// Poll interval for a frame that the GPU still reads.
constexpr std::int64_t gpu_poll_ns = ns_per_ms;

ViewerOptions checked(ViewerOptions options) {
  if (options.screenshot_file) {
    require_writable(*options.screenshot_file, "--screenshot");
  }
  if (options.common.stats_file) {
    require_writable(*options.common.stats_file, "--stats");
  }
  return options;
}

FrameSelection frame_selection(const ViewerOptions& options, std::optional<Delivery> delivery) noexcept {
  if (delivery == Delivery::every) {
    return FrameSelection::every;
  }
  return options.is_headless ? FrameSelection::newest_two : FrameSelection::newest;
}

bool is_empty(Size size) noexcept {
  return size.width == 0 || size.height == 0;
}

SubscriberOptions stopped_by(const Interruption& interruption, SubscriberOptions options) {
  options.endpoint.stop_fd = interruption.descriptor();
  options.takes_slices = true;
  return options;
}

}  // namespace

Program::Program(const ViewerOptions& options, Interruption& interruption, TerminalLog& log)
    : Program(options, interruption, log, nullptr) {}

Program::Program(const ViewerOptions& options, Interruption& interruption, TerminalLog& log,
                 std::unique_ptr<Surface> surface)
    : options_(checked(options)),
      interruption_(interruption),
      log_(log),
      started_ns_(clock_.now_ns()),
      surface_(surface ? std::move(surface) : open_surface(options_)),
      layer_(options_.verify, statistics_),
      composition_(layer_, statistics_),
      recorder_(options_.output_file, clock_, log, interruption),
      subscriber_(stopped_by(interruption, options_.subscriber), log),
      selector_(clock_, frame_selection(options_, options_.subscriber.delivery)),
      schedule_(clock_, options_.is_headless ? status_delay_ns : 0) {
  facts_.peer_text = options_.peer_text;
  log_.detail(surface_->describe() + ", " + gl_renderer() + ", upload by " + name(layer_.method()));
  interruption_.set_wake([this] { subscriber_.wake(); });
  statistics_.line_meter().take_rates(started_ns_);
  next_line_ns_ = started_ns_ + (log_.is_terminal() ? live_line_period_ns : plain_line_period_ns);
}

Program::~Program() {
  interruption_.set_wake({});
}

ExitStatus Program::run() {
  try {
    while (true) {
      follow_status();
      answer_events();
      take_frames();
      if (selector_.has_frame()) {
        show_frame();
      } else if (schedule_.is_due()) {
        redraw();
        warm_up();
      }
      say_live_line();
      if (is_over()) {
        require_sender();
        break;
      }
      sleep();
    }
  } catch (const Error& error) {
    log_.error(error.what());
    ending_ = error.status();
  }
  return finish();
}

bool Program::has_all_frames() const {
  return options_.common.max_frames != 0 && statistics_.counts().frames_received >= options_.common.max_frames;
}

bool Program::is_over() const {
  const bool has_lasted =
      options_.common.max_duration_ns != 0 && clock_.now_ns() - started_ns_ >= options_.common.max_duration_ns;
  const bool has_bye = facts_.status.state == SubscriberState::finished;
  return ending_ || interruption_.is_requested() || has_lasted ||
         ((has_all_frames() || has_bye) && !selector_.has_frame());
}

/// If --duration ends without a sender or without one frame, the exit status must tell a calling script. A stream that
/// ended without a frame is no error: its sender said so.
void Program::require_sender() {
  if (ending_ || interruption_.is_requested() || has_all_frames()) {
    return;
  }
  switch (facts_.status.state) {
    case SubscriberState::waiting:  // say_status() has said why
      throw Error::lost_peer("no sender came before --duration was over");
    case SubscriberState::lost:
      throw Error::lost_peer("the sender was lost, and did not come back before --duration was over");
    case SubscriberState::connected:
      if (statistics_.counts().frames_received == 0) {
        throw Error::lost_peer(
            "no frame came before --duration was over, although the sender is connected; "
            "check its source");
      }
      break;
    case SubscriberState::finished:
    case SubscriberState::failed:
      break;
  }
}

// ---- Receiving ----

void Program::follow_status() {
  const std::uint64_t version = subscriber_.status_version();
  if (version == status_version_ && status_version_ != 0) {
    return;
  }
  status_version_ = version;
  const SubscriberStatus before = std::exchange(facts_.status, subscriber_.status());
  const SubscriberStatus& now = facts_.status;
  selector_.set_rule(frame_selection(options_, now.delivery));
  const bool is_new_session = now.session_number != before.session_number;
  if (before.state != now.state || before.message != now.message || before.format != now.format || is_new_session) {
    say_status(before);
    // Frames usually follow a new session at once; drawing the waiting picture would delay the first one.
    const bool can_wait = !surface_->may_be_visible() || now.state == SubscriberState::connected;
    schedule_.request_within(can_wait ? status_delay_ns : 0);
  }
  if (now.state == SubscriberState::lost && before.state != SubscriberState::lost) {
    facts_.lost_message = now.message;  // later connection attempts overwrite now.message
    layer_.forget_memory();
  }
  if (is_new_session) {
    statistics_.await_first_frame(now.connecting_since_ns);
  }
  if (now.epochs_begun != before.epochs_begun) {
    say_format_warnings();
    prepare_for_epoch();
  }
  if (now.state == SubscriberState::failed) {
    ending_ = now.exit_status;
  }
}

void Program::say_status(const SubscriberStatus& before) {
  const SubscriberStatus& now = facts_.status;
  // dial() has said so while it waited. Any other reason is repeated, for those who read only the last line.
  const bool was_said = before.state == SubscriberState::waiting && before.message == now.message &&
                        now.message.starts_with("nothing listens");
  switch (now.state) {
    case SubscriberState::waiting:
      log_.info(now.message);
      break;
    case SubscriberState::connected:
      if (now.session_number != before.session_number) {
        log_.info(now.start_line);
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

std::optional<ReceivedFrame> Program::next_frame() {
  if (has_all_frames()) {
    return std::nullopt;
  }
  auto frame = subscriber_.next();
  while (frame && !frame->is_complete()) {
    follow_slice(*frame);
    frame = subscriber_.next();
  }
  if (frame) {
    statistics_.frame_received(frame->header().layout.size_bytes, frame->received_ns());
    follow_epoch(*frame);
    record(*frame);
  }
  return frame;
}

void Program::take_frames() {
  selector_.drain([this] { return next_frame(); },
                  [this](ReceivedFrame& older) {
                    statistics_.frame_superseded();
                    layer_.discard(std::move(older));
                  });
}

void Program::follow_epoch(const ReceivedFrame& frame) {
  const std::pair epoch(frame.session_number(), frame.header().epoch);
  if (std::exchange(epoch_, epoch) != epoch) {
    follow_status();  // updates format and delivery for recording and frame selection
    layer_.forget_memory();
  }
}

/// The newest frame's slices are uploaded as they arrive, unless an earlier frame is still to be shown.
void Program::follow_slice(const ReceivedFrame& slice) {
  follow_epoch(slice);
  layer_.slice_arrived(slice, chroma_location(), !selector_.has_frame() && !draws_nothing());
}

void Program::record(const ReceivedFrame& frame) {
  if (!recorder_.is_recording()) {
    return;
  }
  if (const std::uint32_t copies = recorder_.record(frame, facts_.status.format); copies > 0) {
    statistics_.frame_recorded(copies);
  } else if (recorder_.reader_has_left() && options_.is_headless) {
    ending_ = ExitStatus::ok;
  }
}

void Program::answer_events() {
  const SurfaceEvents events = surface_->poll_events();
  if (events.quit_requested) {
    ending_ = ExitStatus::ok;
  }
  if (events.panel_toggle_requested) {
    composition_.toggle_panel();
  }
  if (events.needs_redraw || events.panel_toggle_requested) {
    schedule_.request();
  }
  if (events.screenshot_requested) {
    take_screenshot();
  }
}

// ---- Drawing ----

void Program::show_frame() {
  std::optional<ReceivedFrame> frame = selector_.pop();
  if (draws_nothing()) {  // frames are still received and released, so that the sender is not held back
    statistics_.frame_superseded();
    layer_.discard(std::move(*frame));
    return;
  }
  const FrameTimes sender = frame->header().times;
  ShownTimes here{.received_ns = frame->received_ns(), .selected_ns = clock_.now_ns()};
  upload(std::move(*frame));
  here.uploaded_ns = clock_.now_ns();
  surface_->begin();
  draw_picture();
  const auto shown_ns = present();
  if (!shown_ns) {
    statistics_.frame_superseded();
    fail_without_gpu();
  }
  here.shown_ns = *shown_ns;
  layer_.release_finished();
  const std::int64_t offset_ns = subscriber_.clock_offset().offset_ns;
  statistics_.frame_shown(sender, here, offset_ns);
  composition_.frame_shown(here.shown_ns + offset_ns - sender.completed_ns);
  schedule_.drawn(0, step_ns());
}

void Program::upload(ReceivedFrame frame) {
  const FrameLayout layout = frame.header().layout;
  Layer::Upload result = layer_.upload(std::move(frame), chroma_location());
  if (result != Layer::Upload::done && (gpu_loss_ = find_gl_loss())) {
    result = Layer::Upload::gpu_is_lost;  // the cause of any other failure
  }
  switch (result) {
    case Layer::Upload::done:
      return;
    case Layer::Upload::gpu_is_lost:
      statistics_.frame_superseded();
      fail_without_gpu();
    case Layer::Upload::not_a_picture:
      statistics_.frame_superseded();
      throw Error::failed(layout.format == PixelFormat::bytes
                              ? "this stream carries bytes, not pictures; there is nothing to draw"
                              : "a frame of " + std::to_string(layout.width) + "x" + std::to_string(layout.height) +
                                    " " + std::string(info(layout.format).name) + " cannot be drawn by " +
                                    gl_renderer() + "; send a smaller --size");
    case Layer::Upload::gpu_hangs:
      statistics_.frame_superseded();
      throw Error::failed("the GPU (" + gl_renderer() + ") has not finished a picture for 2 s");
  }
}

/// Returns nothing if the GPU is lost: the drawing will never be visible.
std::optional<std::int64_t> Program::present() {
  const std::optional<std::int64_t> presented_ns = surface_->present();
  gpu_loss_ = find_gl_loss();
  return gpu_loss_ ? std::nullopt : presented_ns;
}

void Program::fail_without_gpu() {
  gpu_loss_ = gpu_loss_.value_or("the GPU draws no more (its OpenGL context is lost)");
  throw Error::failed(*gpu_loss_ + "; start framewire view again, and look for the cause in the kernel's log (dmesg)");
}

ChromaLocation Program::chroma_location() const noexcept {
  return facts_.status.format ? facts_.status.format->chroma_location : ChromaLocation::unspecified;
}

bool Program::draws_nothing() const noexcept {
  return surface_->is_hidden() || is_empty(surface_->size());
}

void Program::redraw() {
  if (draws_nothing()) {  // when the window returns, an event requests a redraw
    schedule_.drawn(0, RedrawSchedule::never_ns);
    return;
  }
  const std::int64_t cpu_before_ns = process_cpu_ns();
  surface_->begin();
  draw_picture();
  if (!present()) {
    fail_without_gpu();
  }
  schedule_.drawn(process_cpu_ns() - cpu_before_ns, step_ns());
}

/// The first frame of a format costs much more than later ones. The sender holds it back until this is done.
void Program::prepare_for_epoch() {
  const SubscriberStatus& status = facts_.status;
  if (status.format && status.format->layout.format != PixelFormat::bytes && !draws_nothing()) {
    surface_->begin();
    layer_.prepare(*status.format, surface_->size());
    if (surface_->may_be_visible()) {
      schedule_.request();  // over what that drew
    }
  }
  subscriber_.confirm_epoch(status.epochs_begun);
}

/// Drivers finish compiling shaders on first use. Doing that while there is no sender delays no frame.
void Program::warm_up() {
  if (!is_warm_ && facts_.status.state == SubscriberState::waiting && clock_.now_ns() - started_ns_ > status_delay_ns) {
    is_warm_ = true;
    surface_->begin();
    layer_.warm_up(surface_->size());
    schedule_.request();  // over what that drew
  }
}

void Program::draw_picture() {
  composition_.draw(surface_->size(), facts_, subscriber_.counts(), clock_.now_ns());
}

std::int64_t Program::step_ns() const noexcept {
  return surface_->may_be_visible() ? composition_.step_ns(facts_) : RedrawSchedule::never_ns;
}

void Program::save_screenshot(const std::string& file) {
  const Image picture = surface_->capture([this] { draw_picture(); });
  if (gpu_loss_ || find_gl_loss()) {
    throw Error::failed("there is no screenshot in " + quote(file) + ": the GPU was lost");
  }
  write_screenshot(file, picture);
}

void Program::take_screenshot() {
  const std::string file = screenshot_name(std::time(nullptr));
  try {
    save_screenshot(file);
    log_.info("screenshot in " + file);
  } catch (const Error& error) {
    log_.warning(error.what());
  }
}

// ---- Reporting ----

void Program::say_format_warnings() {
  if (!facts_.status.format) {
    return;
  }
  if (const std::string colour = describe_colour(*facts_.status.format); !colour.empty()) {
    log_.detail("the stream's pictures: " + colour);
  }
  for (const std::string& warning : format_warnings(*facts_.status.format)) {
    if (std::ranges::find(said_format_warnings_, warning) == said_format_warnings_.end()) {
      said_format_warnings_.push_back(warning);
      log_.warning(warning);
    }
  }
}

void Program::say_live_line() {
  const std::int64_t now_ns = clock_.now_ns();
  if (now_ns < next_line_ns_) {
    return;
  }
  next_line_ns_ = now_ns + (log_.is_terminal() ? live_line_period_ns : plain_line_period_ns);
  const RecentRates rates = statistics_.line_meter().take_rates(now_ns);
  if (facts_.status.state == SubscriberState::connected && statistics_.counts().frames_received > 0) {
    log_.live(live_line(rates, statistics_.counts(), subscriber_.counts()));
  }
}

ViewerReport Program::report() const {
  return {.statistics = statistics_,
          .session_counts = subscriber_.counts(),
          .status = facts_.status,
          .clock_offset = subscriber_.clock_offset(),
          .surface = surface_->describe(),
          .renderer = short_renderer(),
          .upload = name(layer_.method())};
}

void Program::sleep() {
  if (selector_.has_frame()) {
    return;
  }
  const std::int64_t now_ns = clock_.now_ns();
  std::int64_t deadline_ns = std::min({now_ns + surface_->poll_interval_ns(), schedule_.due_ns(), next_line_ns_});
  if (options_.common.max_duration_ns != 0) {
    deadline_ns = std::min(deadline_ns, started_ns_ + options_.common.max_duration_ns);
  }
  if (!layer_.release_finished()) {
    deadline_ns = std::min(deadline_ns, now_ns + gpu_poll_ns);
  }
  subscriber_.wait(deadline_ns, options_.wait);
}

/// Informs the sender first, so that it does not wait for this. Then writes everything else; one failure does not stop
/// the rest.
ExitStatus Program::finish() {
  ExitStatus status = ending_.value_or(ExitStatus::ok);
  const auto attempt = [&](auto&& action) {
    try {
      action();
    } catch (const Error& error) {
      log_.error(error.what());
      status = status == ExitStatus::ok ? error.status() : status;
    }
  };
  log_.end_live();
  while (auto waiting = selector_.pop()) {
    statistics_.frame_superseded();
    layer_.discard(std::move(*waiting));
  }
  layer_.forget_memory();
  attempt([&] { subscriber_.close(stats_json(report())); });
  recorder_.finish();
  if (options_.screenshot_file && statistics_.counts().frames_shown > 0) {
    attempt([&] { save_last_picture(); });
  } else if (options_.screenshot_file) {
    log_.warning("no frame was shown, so there is no " + *options_.screenshot_file);
  }
  if (options_.common.stats_file) {
    attempt([&] { write_stats_file(*options_.common.stats_file, stats_json(report())); });
  }
  for (const std::string& line : summary(report())) {
    log_.info(line);
  }
  return status == ExitStatus::ok && recorder_.has_failed() ? ExitStatus::failed : status;
}

void Program::save_last_picture() {
  if (!gpu_loss_ && schedule_.due_ns() != RedrawSchedule::never_ns) {  // the latest picture has not been drawn yet
    redraw();
  }
  save_screenshot(*options_.screenshot_file);
}

}  // namespace framewire
