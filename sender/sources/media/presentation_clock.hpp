// Tells when the frames of a recording are due.
#pragma once

#include <cstdint>

namespace framewire {

/// Maps presentation timestamps to times of the clock. The first frame is due at once; every later one is due as long
/// after it as its timestamp says, so nothing drifts. Restarts from the present after a pause (no viewer, a slow
/// viewer, a slow decoder), so that no burst of frames catches up, and where timestamps jump. Used by one thread.
class PresentationClock {
 public:
  /// `frame_ns`: the usual frame period, for gaps that timestamps do not define.
  explicit PresentationClock(std::int64_t frame_ns) noexcept : frame_ns_(frame_ns) {}

  /// When to publish the frame with this timestamp; never long before `now_ns` (both monotonic). Any timestamp is
  /// allowed: files may have nonsense.
  std::int64_t due_ns(std::int64_t pts_ns, std::int64_t now_ns) noexcept;

 private:
  std::int64_t frame_ns_;
  bool has_begun_ = false;
  std::int64_t start_ns_ = 0;  // clock time of pts 0
  std::int64_t last_pts_ns_ = 0;
  std::int64_t last_due_ns_ = 0;
};

}  // namespace framewire
