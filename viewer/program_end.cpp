// The viewer's end: what is written, told and released.
#include <algorithm>
#include <future>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "viewer/aside.hpp"
#include "viewer/program.hpp"
#include "viewer/screenshot.hpp"

namespace framewire {

namespace {

/// How long the end waits for the drawing thread, and for how long that thread may have been busy with one picture
/// before the window system is said to block it. Without a window only a slow processor or GPU can be the cause.
constexpr std::int64_t release_timeout_ns = ns_per_s;
constexpr std::int64_t headless_release_timeout_ns = 30 * ns_per_s;
/// For the last picture, which a processor may have to draw.
constexpr std::int64_t last_picture_timeout_ns = 10 * ns_per_s;

}  // namespace

/// Of the first stream that did not end well.
ExitStatus Program::status_of_streams() const {
  for (std::size_t i = 0; i < streams_.size(); ++i) {
    if (shown_.sources[i].is_offered) {  // nobody has asked for it
      continue;
    }
    if (const auto ending = streams_[i]->ending(); ending && *ending != ExitStatus::ok) {
      return *ending;
    }
    if (local_layers_.has_failed(*streams_[i]) || streams_[i]->has_failed()) {
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
  if (input_) {
    input_->leave();
  }
  release_frames();
  attempt([&] { throw_if_drawing_failed(); });  // of the last frame, perhaps
  say_warning();
  save_screenshot();
  attempt([&] { close_streams(); });
  local_layers_.stop();  // only now, so that no sender ends a stream
  for (const auto& stream : streams_) {
    stream->recorder().finish();
  }
  if (recorder_) {
    recorder_->finish();
  }
  window_recordings_->finish();
  if (options_.screenshot_file && has_shown()) {
    attempt([&] { save_last_picture(); });
  } else if (options_.screenshot_file) {
    status = without_picture(status);
  }
  screenshots_.clear();  // waits for them
  attempt([&] { save_frame_times(); });
  if (options_.common.stats_file) {
    attempt([&] { write_stats_file(*options_.common.stats_file, stats_json(report(streams_))); });
  }
  for (const std::string& line : summary(report(streams_))) {
    log_.info(line);
  }
  local_layers_.wait();
  const auto is_incomplete = [](const Recorder& recorder) {
    return recorder.has_failed() || recorder.reader_has_left();
  };
  const bool has_failed_recording =
      (recorder_ && is_incomplete(*recorder_)) ||
      std::ranges::any_of(streams_, [&](const auto& stream) { return is_incomplete(stream->recorder()); });
  return status == ExitStatus::ok && has_failed_recording ? ExitStatus::failed : status;
}

/// What was asked for and is not there is a failure. Another one is the cause of it, and is said already.
ExitStatus Program::without_picture(ExitStatus status) {
  const std::string text = "no frame was shown, so there is no " + *options_.screenshot_file;
  if (status != ExitStatus::ok) {
    log_.warning(text);
    return status;
  }
  log_.error(text);
  return ExitStatus::failed;
}

/// All at once: a sender that is stopped must not delay the goodbye to the others.
void Program::close_streams() {
  const ViewerReport last = report(streams_);
  std::vector<std::future<void>> closing;
  for (std::size_t i = 0; i < streams_.size(); ++i) {
    closing.push_back(close_aside(*streams_[i], stats_json(last, i)));
  }
}

bool Program::has_shown() const {
  return has_shown_before_ || std::ranges::any_of(streams_, [](const auto& stream) {
           return stream->statistics().counts().frames_shown > 0;
         });
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
  const Renderer::Screenshot last = screenshot.value_or(Renderer::Screenshot{
      .picture = {}, .error = is_blocked_ ? "the window system blocks the drawing" : "drawing has failed"});
  require_picture(*options_.screenshot_file, last.error);
  write_screenshot(*options_.screenshot_file, last.picture);
}

}  // namespace framewire
