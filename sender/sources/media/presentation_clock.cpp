#include "sender/sources/media/presentation_clock.hpp"

#include <algorithm>

#include "base/clock.hpp"
#include "base/saturating.hpp"

namespace framewire {

namespace {

constexpr std::int64_t max_late_ns = 100 * ns_per_ms;     // a longer delay restarts the clock
constexpr std::int64_t longest_still_ns = 10 * ns_per_s;  // screen recordings pause; a longer step restarts the clock

}  // namespace

std::int64_t PresentationClock::due_ns(std::int64_t pts_ns, std::int64_t now_ns) noexcept {
  const std::int64_t step_ns = saturating_subtract(pts_ns, last_pts_ns_);
  const std::int64_t longest_step_ns = std::max(longest_still_ns, saturating_multiply(4, frame_ns_));
  const bool jumps = step_ns < 0 || step_ns > longest_step_ns;
  std::int64_t due_ns = saturating_add(start_ns_, pts_ns);
  if (!has_begun_ || (!jumps && saturating_subtract(now_ns, due_ns) > max_late_ns)) {
    due_ns = now_ns;
  } else if (jumps) {
    due_ns = std::max(now_ns, saturating_add(last_due_ns_, frame_ns_));
  }
  has_begun_ = true;
  start_ns_ = saturating_subtract(due_ns, pts_ns);
  last_pts_ns_ = pts_ns;
  last_due_ns_ = due_ns;
  return due_ns;
}

}  // namespace framewire
