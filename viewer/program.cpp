#include "viewer/program.hpp"

#include <algorithm>
#include <ctime>
#include <utility>

#include "base/error.hpp"
#include "viewer/open_surface.hpp"
#include "viewer/screenshot.hpp"

namespace framewire {

namespace {

constexpr std::int64_t live_line_period_ns = ns_per_s;
constexpr std::int64_t plain_line_period_ns = 10 * ns_per_s;
/// Without a window, the first picture without a frame is drawn only if no frame comes within this time.
constexpr std::int64_t first_draw_delay_ns = 300 * ns_per_ms;
/// How long the end waits for the drawing thread, and for how long that thread may have been busy with one picture
/// before the window system is said to block it. Without a window only a slow processor or GPU can be the cause.
constexpr std::int64_t release_timeout_ns = ns_per_s;
constexpr std::int64_t headless_release_timeout_ns = 30 * ns_per_s;
/// The same for the last frame of a stream that has ended.
constexpr std::int64_t last_frame_timeout_ns = 2 * ns_per_s;
/// How often the main thread looks whether the last frame can be shown at all.
constexpr std::int64_t last_frame_poll_ns = 100 * ns_per_ms;
/// For the last picture, which a processor may have to draw.
constexpr std::int64_t last_picture_timeout_ns = 10 * ns_per_s;

ViewerOptions checked(ViewerOptions options) {
  if (options.screenshot_file) {
    require_writable(*options.screenshot_file, "--screenshot");
  }
  if (options.frame_times_file) {
    require_writable(*options.frame_times_file, "--frame-times");
  }
  if (options.common.stats_file) {
    require_writable(*options.common.stats_file, "--stats");
  }
  return options;
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
      frame_times_(options_.frame_times_file.value_or("")),
      surface_(surface ? std::move(surface) : open_surface(options_)),
      recorder_(options_.output_file, clock_, log, interruption, statistics_, [this] { surface_->wake(); }) {
  const auto wake_main = [this] { surface_->wake(); };
  renderer_.emplace(*surface_, statistics_, frame_times_, clock_,
                    DrawingOptions{.quality = options_.quality,
                                   .asks_cadence = options_.asks_cadence,
                                   .verify = options_.verify,
                                   .first_draw_delay_ns = options_.is_headless ? first_draw_delay_ns : 0},
                    wake_main);
  log_.detail(surface_->describe() + ", " + renderer_->device_details() + ", upload by " +
              name(renderer_->upload_method()));
  stream_.emplace(options_, stopped_by(interruption_, options_.subscriber),
                  quality_for(options_.quality, {}, renderer_->is_software()), clock_, statistics_, recorder_, log_,
                  ViewedStream::Listeners{.on_news = [this] { renderer_->wake(); }, .on_end = wake_main});
  renderer_->show(*stream_);
  interruption_.set_wake(wake_main);
  static_cast<void>(statistics_.take_line_rates(started_ns_));  // begins here
  next_line_ns_ = started_ns_ + (log_.is_terminal() ? live_line_period_ns : plain_line_period_ns);
}

/// The drawing thread uses the stream, and the stream wakes the drawing thread.
Program::~Program() {
  interruption_.set_wake({});
  stream_->stop();
  stream_->queue().abandon();
  renderer_.reset();
}

ExitStatus Program::run() {
  try {
    while (!is_over()) {
      answer(surface_->wait_events(deadline_ns()));
      follow_renderer();
      say_live_line();
    }
    require_sender();
  } catch (const Error& error) {
    log_.error(error.what());
    ending_ = error.status();
  }
  return finish();
}

bool Program::is_over() const {
  const bool has_lasted =
      options_.common.max_duration_ns != 0 && clock_.now_ns() - started_ns_ >= options_.common.max_duration_ns;
  return ending_ || stream_->ending() || interruption_.is_requested() || has_lasted || is_unread() ||
         stream_->queue().is_done() || is_stuck_at_last_frame();
}

/// Whether the frames went to a program only, which has left.
bool Program::is_unread() const noexcept {
  return options_.is_headless && recorder_.reader_has_left();
}

bool Program::is_stuck_at_last_frame() const noexcept {
  return surface_->may_be_visible() && stream_->queue().is_closed() && renderer_->is_blocked_for(last_frame_timeout_ns);
}

std::int64_t Program::deadline_ns() const noexcept {
  std::int64_t deadline_ns = next_line_ns_;
  if (options_.common.max_duration_ns != 0) {
    deadline_ns = std::min(deadline_ns, started_ns_ + options_.common.max_duration_ns);
  }
  if (stream_->queue().is_closed()) {
    deadline_ns = std::min(deadline_ns, clock_.now_ns() + last_frame_poll_ns);
  }
  return deadline_ns;
}

/// If --duration ends without a sender or without one frame, the exit status must tell a calling script. A stream that
/// ended without a frame is no error: its sender said so.
void Program::require_sender() const {
  if (ending_ || stream_->ending() || interruption_.is_requested() || stream_->has_all_frames() || is_unread()) {
    return;
  }
  switch (stream_->facts().status.state) {
    case SubscriberState::waiting:  // the stream has said why
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

void Program::answer(const SurfaceEvents& events) {
  if (events.quit_requested) {
    ending_ = ExitStatus::ok;
  }
  if (events.panel_toggle_requested) {
    renderer_->toggle_panel();
  }
  if (events.needs_redraw) {
    renderer_->request_redraw();
  }
  if (events.screenshot_requested) {
    renderer_->request_screenshot();
  }
}

void Program::follow_renderer() {
  throw_if_drawing_failed();
  save_screenshot();
  say_warning();
}

void Program::say_warning() {
  if (const std::string warning = renderer_->take_warning(); !warning.empty()) {
    log_.warning(warning);
  }
}

/// Throws once.
void Program::throw_if_drawing_failed() {
  if (const auto failure = renderer_->failure(); failure && !std::exchange(has_said_failure_, true)) {
    throw Error(failure->status, failure->message);
  }
}

void Program::save_screenshot() {
  if (const auto screenshot = renderer_->take_screenshot()) {
    const std::string file = screenshot_name(std::time(nullptr));
    try {
      save(file, *screenshot);
      log_.info("screenshot in " + file);
    } catch (const Error& error) {
      log_.warning(error.what());
    }
  }
}

void Program::save(const std::string& file, const Renderer::Screenshot& screenshot) {
  if (!screenshot.error.empty()) {
    throw Error::failed("there is no screenshot in " + quote(file) + ": " + screenshot.error);
  }
  write_screenshot(file, screenshot.picture);
}

// ---- Reporting ----

void Program::say_live_line() {
  const std::int64_t now_ns = clock_.now_ns();
  if (now_ns < next_line_ns_) {
    return;
  }
  next_line_ns_ = now_ns + (log_.is_terminal() ? live_line_period_ns : plain_line_period_ns);
  const RecentRates rates = statistics_.take_line_rates(now_ns);
  const ViewerCounts counts = statistics_.counts();
  if (stream_->facts().status.state == SubscriberState::connected && counts.frames_received > 0) {
    log_.live(live_line(rates, counts, stream_->counts()));
  }
}

ViewerReport Program::report() const {
  return {.statistics = statistics_,
          .session_counts = stream_->counts(),
          .status = stream_->facts().status,
          .clock_offset = stream_->clock_offset(),
          .pacing = stream_->queue().pacing(),
          .refresh_period_ns = renderer_->refresh_period_ns(),
          .surface = surface_->describe(),
          .quality = name(renderer_->quality()),
          .renderer = renderer_->device(),
          .upload = name(renderer_->upload_method())};
}

// ---- The end ----

/// Informs the sender first, so that it does not wait for this. Then writes everything else; one failure does not stop
/// the rest.
ExitStatus Program::finish() {
  ExitStatus status = ending_.value_or(stream_->ending().value_or(ExitStatus::ok));
  const auto attempt = [&](auto&& action) {
    try {
      action();
    } catch (const Error& error) {
      log_.error(error.what());
      status = status == ExitStatus::ok ? error.status() : status;
    }
  };
  log_.end_live();
  release_frames();
  attempt([&] { throw_if_drawing_failed(); });  // of the last frame, perhaps
  say_warning();
  save_screenshot();
  attempt([&] { stream_->close(stats_json(report())); });
  recorder_.finish();
  if (options_.screenshot_file && statistics_.counts().frames_shown > 0) {
    attempt([&] { save_last_picture(); });
  } else if (options_.screenshot_file) {
    log_.warning("no frame was shown, so there is no " + *options_.screenshot_file);
  }
  attempt([&] { save_frame_times(); });
  if (options_.common.stats_file) {
    attempt([&] { write_stats_file(*options_.common.stats_file, stats_json(report())); });
  }
  for (const std::string& line : summary(report())) {
    log_.info(line);
  }
  return status == ExitStatus::ok && recorder_.has_failed() ? ExitStatus::failed : status;
}

/// Every frame is released and counted after this, unless the drawing thread is blocked: then its frame is only
/// counted.
void Program::release_frames() {
  stream_->stop();
  const std::int64_t timeout_ns = surface_->may_be_visible() ? release_timeout_ns : headless_release_timeout_ns;
  is_blocked_ = !renderer_->release(clock_.now_ns() + timeout_ns, timeout_ns);
  if (stream_->queue().abandon()) {
    log_.warning("the window system has not shown the last picture within a second");
  }
}

void Program::save_frame_times() {
  if (const std::uint64_t dropped = frame_times_.write(); dropped > 0) {
    log_.warning("--frame-times keeps " + std::to_string(FrameTimesFile::most_frames) + " frames; the first " +
                 std::to_string(dropped) + " are not in the file");
  }
}

void Program::save_last_picture() {
  is_blocked_ = is_blocked_ || !renderer_->finish(clock_.now_ns() + last_picture_timeout_ns, true);
  const auto screenshot = is_blocked_ ? std::nullopt : renderer_->take_screenshot();
  save(*options_.screenshot_file,
       screenshot.value_or(Renderer::Screenshot{
           .picture = {}, .error = is_blocked_ ? "the window system blocks the drawing" : "drawing has failed"}));
}

}  // namespace framewire
