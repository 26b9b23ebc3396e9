#include "viewer/program.hpp"

#include <algorithm>
#include <ctime>
#include <exception>
#include <utility>

#include "base/error.hpp"
#include "base/failure_text.hpp"
#include "command/frame_memory.hpp"
#include "command/named_files.hpp"
#include "viewer/aside.hpp"
#include "viewer/new_file.hpp"
#include "viewer/open_surface.hpp"
#include "viewer/screenshot.hpp"

namespace framewire {

namespace {

constexpr std::int64_t live_line_period_ns = ns_per_s;
constexpr std::int64_t plain_line_period_ns = 10 * ns_per_s;
/// Without a window, the first picture without a frame is drawn only if no frame comes within this time.
constexpr std::int64_t first_draw_delay_ns = 300 * ns_per_ms;
/// How much longer --duration lasts for the first picture, if there are frames for it.
constexpr std::int64_t first_picture_timeout_ns = 5 * ns_per_s;
/// How long the drawing thread may have been busy with the last frame of a stream that has ended.
constexpr std::int64_t last_frame_timeout_ns = 2 * ns_per_s;
/// How often the main thread looks whether the last frame can be shown at all.
constexpr std::int64_t last_frame_poll_ns = 100 * ns_per_ms;

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

}  // namespace

Program::Program(const ViewerOptions& options, Interruption& interruption, TerminalLog& log,
                 std::unique_ptr<Surface> surface)
    : options_(checked(options)),
      interruption_(interruption),
      log_(log),
      started_ns_(clock_.now_ns()),
      frame_times_(options_.frame_times_file.value_or("")),
      surface_(surface ? std::move(surface) : open_surface(options_)),
      drawn_size_(drawn_size_for(surface_->size())),
      editor_(with_wall(options_.scene)),
      local_layers_(clock_, log_, sender_program(), options_.ssh, drawn_size_) {
  const auto wake_main = [this] { surface_->wake(); };
  if (options_.output.is_of_picture) {
    recorder_.emplace(options_.output.file, clock_, log_, interruption_, picture_counts_, wake_main,
                      RecordingWords{.is_of_pictures = true});
  }
  renderer_.emplace(
      *surface_, frame_times_, clock_,
      DrawingOptions{.quality = options_.quality,
                     .downscale = options_.downscale.value_or(Downscale::area),
                     .asks_cadence = options_.asks_cadence,
                     .tells_places = options_.input.has_value(),
                     .memory = options_.session.memory.empty() ? nullptr : options_.session.memory.front(),
                     .open_device_memory = memory_of_device,
                     .verify = options_.verify,
                     .most_sets = options_.most_sets,
                     .first_draw_delay_ns = options_.is_headless ? first_draw_delay_ns : 0,
                     .recorder = recorder_ ? &*recorder_ : nullptr,
                     .recorded_rate = options_.output.rate},
      wake_main);
  window_recordings_.emplace(*renderer_, *surface_, clock_, log_, interruption_, options_.output.file.has_value());
  log_.detail(surface_->describe() + ", " + renderer_->device_details() + ", upload by " +
              name(renderer_->upload_method()));
  if (options_.downscale && quality_for(options_.quality, {}, renderer_->is_software()) == Quality::good) {
    log_.warning("--downscale means nothing: a GPU draws here, in good quality; add --quality fast");
  }
  if (renderer_->why_copied()) {
    log_.warning("--memory is cuda, and frames are copied to host memory to be drawn, because " +
                 *renderer_->why_copied());
  }
  if (options_.messages) {
    messages_ = std::make_unique<ViewerMessagePort>(*options_.messages, log_);
  }
  if (options_.input) {
    input_.emplace(*options_.input, *surface_, *renderer_, streams_, clock_, log_);
  }
  try {
    renderer_->set_camera(orbit_.camera());
    show({.scene = options_.scene, .sources = options_.sources});
  } catch (...) {
    release_streams();
    throw;
  }
  next_scene_poll_ns_ = options_.scene_file ? started_ns_ : INT64_MAX;
  interruption_.set_wake(wake_main);
  next_line_ns_ = started_ns_ + (log_.is_terminal() ? live_line_period_ns : plain_line_period_ns);
}

Program::~Program() {
  interruption_.set_wake({});
  release_streams();
}

/// The drawing thread uses the streams, and the streams wake the drawing thread.
void Program::release_streams() noexcept {
  input_.reset();
  for (const auto& stream : streams_) {
    stream->stop();
    stream->queue().abandon();
  }
  renderer_.reset();
}

ExitStatus Program::run() {
  try {
    while (!is_over()) {
      const SurfaceEvents events = surface_->wait_events(deadline_ns());
      follow_input();  // first: the sender waits for it
      answer(events);
      follow_renderer();
      follow_scene();
      follow_local_layers();
      say_live_line();
    }
    require_senders();
  } catch (const std::exception& error) {
    log_.error(failure_text(error));
    ending_ = exit_status_of(error);
  }
  return finish();
}

bool Program::is_over() const {
  return ending_ || interruption_.is_requested() || clock_.now_ns() >= end_ns() || is_unread() ||
         is_stuck_at_last_frame() || has_all_sets() ||
         std::ranges::all_of(streams_, [this](const auto& stream) { return is_over(*stream); });
}

/// When --duration is over; INT64_MAX: never. Frames that are here get the time to become the picture that
/// --screenshot asks for: a busy processor may not have drawn the first one yet.
std::int64_t Program::end_ns() const {
  if (options_.common.max_duration_ns == 0) {
    return INT64_MAX;
  }
  const std::int64_t end_ns = started_ns_ + options_.common.max_duration_ns;
  const bool awaits_picture = options_.screenshot_file && shown_.scene.layout != Layout::depth && !has_shown() &&
                              std::ranges::any_of(streams_, [](const auto& stream) {
                                return stream->statistics().counts().frames_received > 0;
                              });
  return awaits_picture ? end_ns + first_picture_timeout_ns : end_ns;
}

bool Program::has_all_sets() const {
  const auto sets = renderer_->set_counts();
  return options_.most_sets != 0 && sets && sets->shown >= options_.most_sets;
}

/// With --frames nobody waits for frames that are not drawn.
bool Program::is_over(const ViewedStream& stream) const {
  if (options_.common.max_frames != 0 && stream.is_left_out()) {
    return true;
  }
  return stream.is_over() && (stream.has_all_frames() || !local_layers_.goes_on(stream));
}

/// Whether the frames went to a program only, which has left.
bool Program::is_unread() const noexcept {
  return options_.is_headless && (recorder_ ? *recorder_ : streams_[0]->recorder()).reader_has_left();
}

bool Program::have_all_ended() const noexcept {
  return std::ranges::all_of(streams_, [this](const auto& stream) {
    return (stream->queue().is_closed() || stream->ending()) && !local_layers_.goes_on(*stream);
  });
}

bool Program::is_stuck_at_last_frame() const noexcept {
  return surface_->may_be_visible() && have_all_ended() && renderer_->is_blocked_for(last_frame_timeout_ns);
}

std::int64_t Program::deadline_ns() const noexcept {
  std::int64_t deadline_ns = std::min({next_line_ns_, next_scene_poll_ns_, editor_.due_ns(),
                                       local_layers_.deadline_ns(), window_recordings_->deadline_ns()});
  if (const std::int64_t over_ns = end_ns(); over_ns != INT64_MAX) {
    deadline_ns = std::min(deadline_ns, over_ns);
    if (over_ns != started_ns_ + options_.common.max_duration_ns) {
      deadline_ns = std::min(deadline_ns, clock_.now_ns() + last_frame_poll_ns);
    }
  }
  if (input_) {
    deadline_ns = std::min(deadline_ns, input_->deadline_ns());
  }
  if (have_all_ended()) {
    deadline_ns = std::min(deadline_ns, clock_.now_ns() + last_frame_poll_ns);
  }
  return deadline_ns;
}

void Program::require_senders() const {
  if (ending_ || interruption_.is_requested() || is_unread() || has_all_sets()) {
    return;
  }
  for (std::size_t i = 0; i < streams_.size(); ++i) {
    if (!shown_.sources[i].is_offered) {
      require_sender(*streams_[i]);
    }
  }
}

/// If --duration ends without a sender or without one frame, the exit status must tell a calling script. A stream that
/// ended without a frame is no error: its sender said so.
void Program::require_sender(const ViewedStream& stream) const {
  // A scene that the viewer draws itself has no sender, and brings nothing while nobody sees it.
  if (stream.ending() || stream.has_all_frames() || stream.drawn() != nullptr || local_layers_.has_failed(stream)) {
    return;
  }
  const std::string about = streams_.size() > 1 ? stream.peer_text() + ": " : "";
  switch (stream.facts().status.state) {
    case SubscriberState::waiting:  // the stream has said why
      throw Error::lost_peer(about + "no sender came before --duration was over");
    case SubscriberState::lost:
      throw Error::lost_peer(about + "the sender was lost, and did not come back before --duration was over");
    case SubscriberState::connected:
      if (stream.statistics().counts().frames_received == 0) {
        throw Error::lost_peer(about +
                               "no frame came before --duration was over, although the sender is connected; its "
                               "source has none, or is too slow");
      }
      break;
    case SubscriberState::finished:
    case SubscriberState::failed:
      break;
  }
}

void Program::answer(const SurfaceEvents& events) {
  if (events.quit_requested) {
    ending_ = status_of_streams();  // as after Ctrl-C
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
  if (events.recording_toggle_requested) {
    window_recordings_->toggle();
  }
  arrange(events.input);
}

void Program::follow_input() {
  if (input_ && input_->follow()) {
    show_arranged();
  }
}

/// Before its goodbye.
void Program::leave(ViewedStream& stream) {
  if (input_) {
    input_->leave(stream);
  }
}

void Program::follow_renderer() {
  throw_if_drawing_failed();
  save_screenshot();
  say_warning();
  window_recordings_->follow();
}

void Program::say_warning() {
  constexpr std::size_t most_said = 256;  // a peer could make ever new ones
  for (const std::string& warning : renderer_->take_warnings()) {
    if (said_warnings_.size() < most_said && said_warnings_.insert(warning).second) {
      log_.warning(warning);
    }
  }
}

/// Throws once.
void Program::throw_if_drawing_failed() {
  if (const auto failure = renderer_->failure(); failure && !std::exchange(has_said_failure_, true)) {
    throw Error(failure->status, failure->message);
  }
}

/// On a thread of its own: a large picture takes long to be coded, and a disk may hang.
void Program::save_screenshot() {
  constexpr std::size_t most_unsaved = 8;
  auto taken = renderer_->take_screenshot();
  if (!taken) {
    return;
  }
  std::erase_if(screenshots_, is_done);
  if (screenshots_.size() >= most_unsaved) {
    log_.warning("there is no screenshot: " + std::to_string(most_unsaved) + " earlier ones are still being written");
    return;
  }
  const auto write = [this, file = timed_name(std::time(nullptr), ".png"),
                      screenshot = std::make_shared<const Renderer::Screenshot>(std::move(*taken))] {
    try {
      require_picture(file, screenshot->error);
      log_.info("screenshot in " + write_new_screenshot(file, screenshot->picture));
    } catch (const std::exception& error) {
      log_.warning(error.what());
    }
  };
  screenshots_.push_back(run_aside("fw-screenshot", write));
}

// ---- Reporting ----

void Program::say_live_line() {
  const std::int64_t now_ns = clock_.now_ns();
  if (now_ns < next_line_ns_) {
    return;
  }
  next_line_ns_ = now_ns + (log_.is_terminal() ? live_line_period_ns : plain_line_period_ns);
  LiveReport live;
  bool has_frames = false;
  for (const auto& stream : streams_) {
    const ViewerCounts counts = stream->statistics().counts();
    live.add(stream->statistics().take_line_rates(now_ns), counts, stream->counts());
    has_frames |= stream->facts().status.state == SubscriberState::connected && counts.frames_received > 0;
  }
  live.silence = longest_silence(now_ns);
  if (has_frames) {
    log_.live(live_line(live));
  }
}

/// Of the stream whose frames stay away for the longest time; empty: of none.
std::string Program::longest_silence(std::int64_t now_ns) const {
  std::string longest;
  std::int64_t since_ns = INT64_MAX;
  for (const auto& stream : streams_) {
    const std::optional<Silence> silence = stream->silence();
    if (silence && silence->since_ns < since_ns && shown_.scene.layout != Layout::depth) {
      const std::string text = describe(*silence, now_ns);
      if (!text.empty()) {
        longest = streams_.size() > 1 ? stream->facts().name_among_others() + ": " : "";
        longest += text;
        since_ns = silence->since_ns;
      }
    }
  }
  return longest;
}

ViewerReport Program::report(std::span<const std::shared_ptr<ViewedStream>> streams) const {
  ViewerReport report{.streams = {},
                      .refresh_period_ns = renderer_->refresh_period_ns(),
                      .surface = surface_->describe(),
                      .quality = name(renderer_->quality()),
                      .renderer = renderer_->device(),
                      .upload = name(renderer_->upload_method()),
                      .sets = renderer_->set_counts(),
                      .pictures = recorder_ ? std::optional(picture_counts_.counts()) : std::nullopt};
  for (const auto& stream : streams) {
    const StreamFacts facts = stream->facts();
    report.streams.push_back({.statistics = stream->statistics(),
                              .peer_text = facts.name_among_others(),
                              .session_counts = stream->counts(),
                              .status = facts.status,
                              .clock_offset = stream->clock_offset(),
                              .pacing = stream->queue().pacing()});
  }
  return report;
}

}  // namespace framewire
