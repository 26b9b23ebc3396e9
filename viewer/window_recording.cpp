#include "viewer/window_recording.hpp"

#include <unistd.h>

#include <ctime>
#include <exception>
#include <utility>

#include "viewer/aside.hpp"
#include "viewer/new_file.hpp"
#include "viewer/renderer.hpp"
#include "viewer/surface.hpp"

namespace framewire {

namespace {

/// How often to look whether another thread is done.
constexpr std::int64_t poll_ns = 20 * ns_per_ms;

std::string frames(std::uint64_t count) {
  return std::to_string(count) + (count == 1 ? " frame" : " frames");
}

/// Ends the file. The recorder has already said why, if it has failed.
void close_file(WindowRecording& recording, Log& log) {
  recording.recorder.finish();
  const ViewerCounts counts = recording.counts.counts();
  if (counts.frames_recorded == 0) {
    ::unlink(recording.file.c_str());
  }
  if (recording.recorder.has_failed()) {
    return;
  }
  if (counts.frames_recorded == 0) {
    log.warning("there is no recording in " + recording.file + ": no picture was shown");
    return;
  }
  const std::string end = "recording in " + recording.file +
                          " has ended: " + frames(counts.frames_recorded + counts.frames_repeated) + ", " +
                          std::to_string(counts.frames_unrecorded) + " pictures dropped";
  if (recording.recorder.frames_missing() > 0) {
    log.warning(end + "; it " + recording.recorder.describe_missing());
  } else {
    log.info(end);
  }
}

}  // namespace

WindowRecordings::WindowRecordings(Renderer& renderer, Surface& surface, const Clock& clock, Log& log,
                                   const Interruption& interruption, bool has_other_recording)
    : renderer_(renderer),
      surface_(surface),
      clock_(clock),
      log_(log),
      interruption_(interruption),
      has_other_recording_(has_other_recording) {}

WindowRecordings::~WindowRecordings() = default;

void WindowRecordings::toggle() {
  is_wanted_ = !is_wanted_;
  follow();
}

void WindowRecordings::follow() {
  if (opening_.valid() && is_done(opening_)) {
    take_opened();
  }
  if (recording_ && !is_ending_ && (!is_wanted_ || recording_->recorder.has_failed())) {
    end();
  }
  // The drawing thread has let go of it.
  if (recording_ && is_ending_ && !closing_.valid() && recording_.use_count() == 1) {
    close();
  }
  if (closing_.valid() && is_done(closing_)) {
    closing_.get();
    recording_.reset();
    is_ending_ = false;
  }
  if (is_wanted_ && !recording_ && !opening_.valid()) {
    open();
  }
}

std::int64_t WindowRecordings::deadline_ns() const noexcept {
  return opening_.valid() || is_ending_ ? clock_.now_ns() + poll_ns : INT64_MAX;
}

void WindowRecordings::open() {
  opened_ = std::make_shared<Opened>();
  opening_ = run_aside("fw-recording", [this, opened = opened_, name = timed_name(std::time(nullptr), ".y4m")] {
    std::string file;
    try {
      file = claim_new_file(name, "the recording");
      opened->recording = std::make_shared<WindowRecording>(file, clock_, log_, interruption_,
                                                            [surface = &surface_] { surface->wake(); });
    } catch (const std::exception& error) {
      log_.warning(error.what());
      if (!file.empty()) {
        ::unlink(file.c_str());
      }
    }
    surface_.wake();
  });
}

void WindowRecordings::take_opened() {
  opening_.get();
  recording_ = std::exchange(opened_, nullptr)->recording;
  if (!recording_) {
    is_wanted_ = false;
    return;
  }
  log_.info("recording in " + recording_->file + " until R is pressed again" +
            (has_other_recording_ ? "; --output goes on by itself" : ""));
  surface_.set_title_note(TitleNote::recording, "recording in " + recording_->file);
  renderer_.record(recording_);
}

/// A recording that has failed is not wanted any more.
void WindowRecordings::end() {
  is_ending_ = true;
  is_wanted_ = is_wanted_ && !recording_->recorder.has_failed();
  surface_.set_title_note(TitleNote::recording, "");
  renderer_.record(nullptr);
}

void WindowRecordings::close() {
  closing_ = run_aside("fw-recording", [this, recording = recording_.get()] {
    close_file(*recording, log_);
    surface_.wake();
  });
}

void WindowRecordings::finish() {
  is_wanted_ = false;
  if (opening_.valid()) {
    opening_.get();
    recording_ = std::exchange(opened_, nullptr)->recording;
  }
  if (closing_.valid()) {
    closing_.get();
  } else if (recording_) {
    close_file(*recording_, log_);
  }
  recording_.reset();
  is_ending_ = false;
}

}  // namespace framewire
