// Records what the viewer shows.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>

#include "gl/canvas.hpp"
#include "gl/offscreen_target.hpp"
#include "gl/readback.hpp"
#include "viewer/composition.hpp"
#include "viewer/picture_timeline.hpp"
#include "viewer/recorder.hpp"

namespace framewire {

/// Gives a Recorder the pictures that are shown. The first one decides size and rate of the recording. Pictures of
/// other sizes are scaled to fit, with black around them. They are read back without waiting, after they were shown, so
/// that they are not late for it. Used on the drawing thread.
class PictureRecording {
 public:
  /// `recorder` outlives it. `wanted`: the rate; empty: as recording_rate().
  PictureRecording(Recorder& recorder, std::optional<Rational> wanted) : recorder_(recorder), wanted_(wanted) {}
  PictureRecording(const PictureRecording&) = delete;
  PictureRecording& operator=(const PictureRecording&) = delete;
  /// Waits until the GPU has written what it reads back.
  ~PictureRecording() = default;

  /// What the rate follows from.
  struct Rates {
    Composition::Streams streams{};
    std::int64_t refresh_period_ns = 0;  // 0: not known
  };
  /// A picture is shown from `now_ns` on (monotonic). One of the same `version` as the last changes nothing. What fails
  /// ends the recording, and nothing else.
  void show(const Canvas& picture, std::uint64_t version, const Rates& rates, std::int64_t now_ns);

  /// Gives the recorder what is read back by now, and what is to be written of a picture that stands.
  void follow(std::int64_t now_ns);
  /// When follow() has something to do; INT64_MAX: only after show().
  [[nodiscard]] std::int64_t due_ns(std::int64_t now_ns) const noexcept;

  /// The last picture ends at `now_ns`. show() is not called any more, follow() is until is_over().
  void end(std::int64_t now_ns);
  /// It was ended, and all pictures are read back, or never will be.
  [[nodiscard]] bool is_over(std::int64_t now_ns) const noexcept;
  /// end(), if that was not yet. Waits, with a deadline, until all are read back. Nothing follows.
  void finish(std::int64_t now_ns);

 private:
  /// What is known with the first picture.
  struct Begun {
    Begun(Size size, Rational rate, bool repeats, std::int64_t now_ns);

    OffscreenTarget target;  // has the picture that stands, top row first
    Readback readback;
    StreamFormat format;
    PictureTimeline timeline;
    std::deque<std::uint64_t> numbers{};  // of the pictures that are being read back
  };

  [[nodiscard]] bool takes_no_more() const noexcept {
    return ended_ns_ || has_failed_ || recorder_.has_failed() || recorder_.reader_has_left();
  }
  bool begin(Size size, const Rates& rates, std::int64_t now_ns);
  void write(PictureTimeline::LastFrame last);
  void collect();

  Recorder& recorder_;
  const std::optional<Rational> wanted_;
  std::optional<Begun> begun_;
  std::optional<std::uint64_t> version_;  // of the picture that was shown last
  std::optional<std::int64_t> ended_ns_;
  bool has_failed_ = false;
};

}  // namespace framewire
