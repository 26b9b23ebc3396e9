// When the frames of a recording are due.
#pragma once

#include <cstdint>

namespace framewire {

/// Turns presentation times into times of the clock: the first frame is due at once, every later one as long after it
/// as its timestamp says, so nothing drifts. Starts anew from the present where that makes no sense any more: after a
/// pause (no viewer, a slow viewer, a slow decoder), so that no burst of frames catches up, and where timestamps jump.
/// One thread.
class PresentationClock {
 public:
  /// `frame_ns`: the usual distance of two frames, for places where the timestamps do not say it.
  explicit PresentationClock(std::int64_t frame_ns) noexcept : frame_ns_(frame_ns) {}

  /// When the frame with this timestamp is to be published; not long before `now_ns` (both monotonic).
  std::int64_t due_ns(std::int64_t pts_ns, std::int64_t now_ns) noexcept;

 private:
  std::int64_t frame_ns_;
  bool has_begun_ = false;
  std::int64_t start_ns_ = 0;  // of the clock, where pts is 0
  std::int64_t last_pts_ns_ = 0;
  std::int64_t last_due_ns_ = 0;
};

}  // namespace framewire
