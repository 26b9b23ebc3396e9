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
/// How often the scene's file is looked at.
constexpr std::int64_t scene_poll_ns = 250 * ns_per_ms;
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

Scene with_wall(Scene scene, const std::optional<Wall>& wall) {
  if (wall) {
    scene.wall = wall;
  }
  return scene;
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
      editor_(with_wall(options_.scene, options_.wall)),
      local_layers_(clock_, log_, sender_program()) {
  const auto wake_main = [this] { surface_->wake(); };
  renderer_.emplace(*surface_, frame_times_, clock_,
                    DrawingOptions{.quality = options_.quality,
                                   .asks_cadence = options_.asks_cadence,
                                   .verify = options_.verify,
                                   .first_draw_delay_ns = options_.is_headless ? first_draw_delay_ns : 0},
                    wake_main);
  log_.detail(surface_->describe() + ", " + renderer_->device_details() + ", upload by " +
              name(renderer_->upload_method()));
  try {
    show(options_.scene, options_.sources);
  } catch (...) {
    release_streams();
    throw;
  }
  if (options_.scene_file) {
    scene_watch_.emplace(*options_.scene_file, options_.scene);
    next_scene_poll_ns_ = started_ns_ + scene_poll_ns;
  }
  interruption_.set_wake(wake_main);
  next_line_ns_ = started_ns_ + (log_.is_terminal() ? live_line_period_ns : plain_line_period_ns);
}

/// Starts connecting.
std::shared_ptr<ViewedStream> Program::open(const ViewedSource& source, bool is_one_of_several) {
  const auto wake_main = [this] { surface_->wake(); };
  auto stream = std::make_shared<ViewedStream>(
      options_, source, is_one_of_several || options_.scene_file ? source.peer_text : "",
      quality_for(options_.quality, {}, renderer_->is_software()), clock_, interruption_,
      options_.is_synchronised ? &sync_ : nullptr, log_,
      ViewedStream::Listeners{.on_news = [this] { renderer_->wake(); }, .on_session = wake_main, .on_end = wake_main});
  static_cast<void>(stream->statistics().take_line_rates(started_ns_));  // begins here
  return stream;
}

/// An error leaves everything as it is.
void Program::follow_scene_file() {
  std::erase_if(retired_, [](const auto& stream) { return stream.use_count() == 1; });
  if (clock_.now_ns() < next_scene_poll_ns_) {
    return;
  }
  next_scene_poll_ns_ = clock_.now_ns() + scene_poll_ns;
  auto news = scene_watch_->poll();
  if (!news) {
    return;
  }
  try {
    if (const auto* error = std::get_if<std::string>(&*news)) {
      throw Error::usage(*error);
    }
    const Scene& scene = std::get<Scene>(*news);
    const bool was_arranged = show(scene, sources_of(scene, options_.session));
    log_.info("the scene in " + *options_.scene_file + " has changed" +
              (was_arranged ? ", and replaces what was arranged in the window" : ""));
  } catch (const Error& error) {
    log_.warning(std::string(error.what()) + "; the scene stays as it was");
  }
}

/// Who names a sender, but none of its streams, gets them all: each of the others becomes a layer after the first.
void Program::follow_offers() {
  if (options_.scene_file || options_.output_file) {  // these name what they mean
    return;
  }
  Scene scene = scene_;
  std::vector<ViewedSource> sources = sources_;
  for (std::size_t i = 0; i < streams_.size(); ++i) {
    if (!sources_[i].subscriber.stream.empty() || !sources_[i].subscriber.endpoint.dial) {
      continue;
    }
    const std::vector<std::string> names = streams_[i]->facts().status.stream_names;
    for (std::size_t n = 1; n < names.size() && sources.size() < max_scene_layers; ++n) {
      const ViewedSource source = source_of_stream(sources_[i], names[n]);
      if (std::ranges::find(sources, source.peer_text, &ViewedSource::peer_text) != sources.end()) {
        continue;
      }
      SceneLayer layer = scene_.layers[i];
      layer.source += "/" + names[n];
      // Sources of this machine lie over those of all senders.
      const auto place = std::ranges::find_if(sources, [](const ViewedSource& each) { return each.local.has_value(); });
      const auto index = place - sources.begin();
      layer.alpha = usual_alpha(scene.layout, static_cast<std::size_t>(index), layer.blend);
      scene.layers.insert(scene.layers.begin() + index, std::move(layer));
      sources.insert(place, source);
    }
  }
  if (sources.size() != sources_.size()) {
    show(scene, sources);
  }
}

/// Streams that were shown before go on without a break. Returns whether the user had arranged the scene before.
bool Program::show(const Scene& scene, const std::vector<ViewedSource>& sources) {
  std::vector<std::shared_ptr<ViewedStream>> before = streams_;
  std::vector<std::shared_ptr<ViewedStream>> now;
  for (const ViewedSource& source : sources) {
    const auto known = std::ranges::find_if(
        before, [&](const auto& stream) { return stream && local_layers_.is_source_of(*stream, source); });
    now.push_back(known != before.end() ? std::exchange(*known, nullptr) : open(source, sources.size() > 1));
  }
  streams_ = std::move(now);
  scene_ = scene;
  sources_ = sources;
  const bool was_arranged = editor_.replace(with_wall(scene, options_.wall));
  show_arranged();
  for (auto& stream : before) {
    if (stream) {
      retire(std::move(stream), "is no longer part of the scene");
    }
  }
  local_layers_.show(streams_, sources);
  return was_arranged;
}

void Program::show_arranged() {
  ShownScene shown{.scene = editor_.scene(), .streams = {}, .selection = editor_.selection()};
  for (const std::size_t index : editor_.order()) {
    shown.streams.push_back(streams_[index]);
  }
  renderer_->show(std::move(shown));
}

/// What was done since the last time makes one new scene.
void Program::arrange(const InputEvents& input) {
  bool has_changed = editor_.pass_time(clock_.now_ns());
  if (!input.empty()) {
    std::vector<PictureShape> pictures;
    for (const auto& stream : streams_) {
      const std::optional<StreamFormat> format = stream->facts().status.format;
      pictures.push_back(format
                             ? PictureShape{{format->layout.width, format->layout.height}, format->sample_aspect_ratio}
                             : PictureShape{});
    }
    for (const InputEvent& event : input) {
      has_changed |= editor_.take(event, {.surface = surface_->size(), .pictures = pictures}, clock_.now_ns());
    }
  }
  surface_->set_pointer(editor_.pointer());
  if (has_changed) {
    show_arranged();
  }
}

/// Ends a stream that is no longer shown.
void Program::retire(std::shared_ptr<ViewedStream> stream, const std::string& why) {
  stream->stop();
  stream->queue().abandon();
  const ViewerReport last = report({&stream, 1});
  stream->close(stats_json(last));
  log_.info(stream->peer_text() + " " + why + ": " + summary(last).front());
  retired_.push_back(std::move(stream));
}

Program::~Program() {
  interruption_.set_wake({});
  release_streams();
}

/// The drawing thread uses the streams, and the streams wake the drawing thread.
void Program::release_streams() noexcept {
  for (const auto& stream : streams_) {
    stream->stop();
    stream->queue().abandon();
  }
  renderer_.reset();
}

ExitStatus Program::run() {
  try {
    while (!is_over()) {
      answer(surface_->wait_events(deadline_ns()));
      follow_renderer();
      follow_scene_file();
      follow_offers();
      follow_local_layers();
      say_live_line();
    }
    require_senders();
  } catch (const Error& error) {
    log_.error(error.what());
    ending_ = error.status();
  }
  return finish();
}

bool Program::is_over() const {
  const bool has_lasted =
      options_.common.max_duration_ns != 0 && clock_.now_ns() - started_ns_ >= options_.common.max_duration_ns;
  return ending_ || interruption_.is_requested() || has_lasted || is_unread() || is_stuck_at_last_frame() ||
         std::ranges::all_of(streams_, [this](const auto& stream) { return is_over(*stream); });
}

bool Program::is_over(const ViewedStream& stream) const {
  return stream.is_over() && (stream.has_all_frames() || !local_layers_.goes_on(stream));
}

/// Whether the frames went to a program only, which has left.
bool Program::is_unread() const noexcept {
  return options_.is_headless && streams_[0]->recorder().reader_has_left();
}

bool Program::have_all_ended() const noexcept {
  return std::ranges::all_of(streams_, [](const auto& stream) { return stream->queue().is_closed(); });
}

bool Program::is_stuck_at_last_frame() const noexcept {
  return surface_->may_be_visible() && have_all_ended() && renderer_->is_blocked_for(last_frame_timeout_ns);
}

std::int64_t Program::deadline_ns() const noexcept {
  std::int64_t deadline_ns =
      std::min({next_line_ns_, next_scene_poll_ns_, editor_.due_ns(), local_layers_.deadline_ns()});
  if (options_.common.max_duration_ns != 0) {
    deadline_ns = std::min(deadline_ns, started_ns_ + options_.common.max_duration_ns);
  }
  if (have_all_ended()) {
    deadline_ns = std::min(deadline_ns, clock_.now_ns() + last_frame_poll_ns);
  }
  return deadline_ns;
}

void Program::require_senders() const {
  if (ending_ || interruption_.is_requested() || is_unread()) {
    return;
  }
  for (const auto& stream : streams_) {
    require_sender(*stream);
  }
}

/// If --duration ends without a sender or without one frame, the exit status must tell a calling script. A stream that
/// ended without a frame is no error: its sender said so.
void Program::require_sender(const ViewedStream& stream) const {
  if (stream.ending() || stream.has_all_frames() || local_layers_.has_failed(stream)) {
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
  arrange(events.input);
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
  LiveReport live;
  bool has_frames = false;
  for (const auto& stream : streams_) {
    const ViewerCounts counts = stream->statistics().counts();
    live.add(stream->statistics().take_line_rates(now_ns), counts, stream->counts());
    has_frames |= stream->facts().status.state == SubscriberState::connected && counts.frames_received > 0;
  }
  if (has_frames) {
    log_.live(live_line(live));
  }
}

ViewerReport Program::report(std::span<const std::shared_ptr<ViewedStream>> streams) const {
  ViewerReport report{.streams = {},
                      .refresh_period_ns = renderer_->refresh_period_ns(),
                      .surface = surface_->describe(),
                      .quality = name(renderer_->quality()),
                      .renderer = renderer_->device(),
                      .upload = name(renderer_->upload_method())};
  for (const auto& stream : streams) {
    report.streams.push_back({.statistics = stream->statistics(),
                              .peer_text = stream->peer_text(),
                              .session_counts = stream->counts(),
                              .status = stream->facts().status,
                              .clock_offset = stream->clock_offset(),
                              .pacing = stream->queue().pacing()});
  }
  return report;
}

// ---- The end ----

/// Of the first stream that did not end well.
ExitStatus Program::status_of_streams() const {
  for (const auto& stream : streams_) {
    if (const auto ending = stream->ending(); ending && *ending != ExitStatus::ok) {
      return *ending;
    }
    if (local_layers_.has_failed(*stream)) {
      return ExitStatus::failed;
    }
  }
  return ExitStatus::ok;
}

/// Informs the senders first, so that they do not wait for this. Then writes everything else; one failure does not stop
/// the rest.
ExitStatus Program::finish() {
  ExitStatus status = ending_.value_or(status_of_streams());
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
  attempt([&] { close_streams(); });
  local_layers_.stop();  // only now, so that no sender ends a stream
  for (const auto& stream : streams_) {
    stream->recorder().finish();
  }
  if (options_.screenshot_file && has_shown()) {
    attempt([&] { save_last_picture(); });
  } else if (options_.screenshot_file) {
    log_.warning("no frame was shown, so there is no " + *options_.screenshot_file);
  }
  attempt([&] { save_frame_times(); });
  if (options_.common.stats_file) {
    attempt([&] { write_stats_file(*options_.common.stats_file, stats_json(report(streams_))); });
  }
  for (const std::string& line : summary(report(streams_))) {
    log_.info(line);
  }
  local_layers_.wait();
  const bool has_failed_recording =
      std::ranges::any_of(streams_, [](const auto& stream) { return stream->recorder().has_failed(); });
  return status == ExitStatus::ok && has_failed_recording ? ExitStatus::failed : status;
}

void Program::close_streams() {
  const ViewerReport last = report(streams_);
  for (std::size_t i = 0; i < streams_.size(); ++i) {
    streams_[i]->close(stats_json(last, i));
  }
}

bool Program::has_shown() const {
  return std::ranges::any_of(streams_,
                             [](const auto& stream) { return stream->statistics().counts().frames_shown > 0; });
}

/// Every frame is released and counted after this, unless the drawing thread is blocked: then its frames are only
/// counted.
void Program::release_frames() {
  for (const auto& stream : streams_) {
    stream->stop();
  }
  const std::int64_t timeout_ns = surface_->may_be_visible() ? release_timeout_ns : headless_release_timeout_ns;
  is_blocked_ = !renderer_->release(clock_.now_ns() + timeout_ns, timeout_ns);
  bool is_unshown = false;
  for (const auto& stream : streams_) {
    is_unshown |= stream->queue().abandon();
  }
  if (is_unshown) {
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
