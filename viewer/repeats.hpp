// Decides how often to write each frame, so that a recording with skipped frames plays in real time.
#pragma once

#include <cstdint>

#include "frame/frame_layout.hpp"

namespace framewire {

/// y4m has one rate for all frames. Skipped frames leave a gap in the sequence, and the next frame is repeated once for
/// each. It is not repeated when writing takes longer than the frames last, because then each repetition would cause
/// more skipped frames. A value; used by one thread.
class Repeats {
 public:
  /// One gap is filled with at most this many seconds of repeated frames, so that it does not block the viewer. The
  /// rest of the gap is missing from the recording.
  static constexpr std::uint32_t max_gap_s = 1;

  /// How many copies of the frame `sequence` to write; at least one. `rate` is the file's. A gap between two sessions
  /// is of unknown length and is not filled. Within a session the numbers go on when the format changes (a new epoch).
  std::uint32_t copies(std::uint64_t session, std::uint64_t sequence, Rational rate) noexcept;

  /// Reports how long writing `frames` frames took.
  void written(std::uint32_t frames, std::int64_t duration_ns) noexcept;

  /// Skipped frames that were not replaced by repetitions.
  [[nodiscard]] std::uint64_t missing() const noexcept { return missing_; }

 private:
  [[nodiscard]] bool keeps_up(Rational rate) const noexcept;

  std::uint64_t session_ = 0;
  std::uint64_t next_sequence_ = 0;
  bool has_begun_ = false;
  std::int64_t average_write_ns_ = 0;  // per frame: an exponential moving average
  std::uint64_t missing_ = 0;
};

}  // namespace framewire
