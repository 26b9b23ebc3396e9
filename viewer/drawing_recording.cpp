// The part of Drawing that records what is shown.
#include <algorithm>
#include <utility>

#include "viewer/drawing.hpp"
#include "viewer/window_recording.hpp"

namespace framewire {

void Drawing::record(std::shared_ptr<WindowRecording> recording) {
  composition_.show_recording(recording.get());
  if (recording) {
    key_pictures_.reset();
    key_recording_ = std::move(recording);
    key_pictures_.emplace(key_recording_->recorder, options_.recorded_rate);
    composition_.keep_pictures(true);
  } else if (key_pictures_) {
    key_pictures_->end(clock_.now_ns());
  }
  schedule_.request();
}

void Drawing::follow_recordings(std::int64_t now_ns) {
  if (recording_) {
    recording_->follow(now_ns);
  }
  if (key_pictures_) {
    key_pictures_->follow(now_ns);
    if (key_pictures_->is_over(now_ns)) {
      release_key_recording();
    }
  }
}

/// The main thread may end its file now.
void Drawing::release_key_recording() {
  key_pictures_.reset();
  composition_.keep_pictures(recording_.has_value());
  key_recording_.reset();
}

std::int64_t Drawing::recordings_due_ns(std::int64_t now_ns) const noexcept {
  return std::min(recording_ ? recording_->due_ns(now_ns) : INT64_MAX,
                  key_pictures_ ? key_pictures_->due_ns(now_ns) : INT64_MAX);
}

/// What is seen before the first frame of a stream is the viewer's own.
void Drawing::record_picture(std::int64_t shown_ns) {
  const bool has_frames = depth_ ? depth_->picture().has_value()
                                 : std::ranges::any_of(composed_, [](const auto& s) { return s.layer->has_picture(); });
  const Canvas* const pictures = composition_.pictures();
  if (!has_frames || pictures == nullptr) {
    return;
  }
  const PictureRecording::Rates rates{composed_, refresh_period_ns_};
  if (recording_) {
    recording_->show(*pictures, composition_.pictures_version(), rates, shown_ns);
  }
  if (key_pictures_ && composition_.shows_recording()) {
    key_pictures_->show(*pictures, composition_.pictures_version(), rates, shown_ns);
  }
}

void Drawing::finish_recordings() {
  const std::int64_t now_ns = clock_.now_ns();
  if (recording_) {
    recording_->finish(now_ns);
    recording_.reset();
  }
  if (key_pictures_) {
    composition_.show_recording(nullptr);
    key_pictures_->finish(now_ns);
    release_key_recording();
  }
}

}  // namespace framewire
