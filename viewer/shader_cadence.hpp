// When a scene that the viewer draws itself is drawn. Logic only.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

#include "gl/tick_clock.hpp"

namespace framewire {

/// Draws at a rate of its own, at most once a picture. Ticks that are too late are left out, so that the animation
/// keeps its speed. One thread; the caller passes the time (monotonic, ns).
class ShaderCadence {
 public:
  /// Where the animation is.
  struct Moment {
    std::int64_t time_ns = 0;
    std::int64_t delta_ns = 0;  // since the last one
    bool operator==(const Moment&) const = default;
  };

  explicit ShaderCadence(double frames_per_s) noexcept : frames_per_s_(frames_per_s) {}

  /// When a frame is due; in the past before the first.
  [[nodiscard]] std::int64_t due_ns() const noexcept {
    return clock_ ? std::max(clock_->due_ns(tick_ + 1), not_before_ns_) : INT64_MIN;
  }

  /// The frame for a picture that is chosen now, if one is due. `refresh_period_ns`: of the screen; 0: not known. A
  /// frame may come half a refresh too early: else, where its rate is the screen's, the jitter of choices would leave
  /// out every other one.
  std::optional<Moment> take(std::int64_t now_ns, std::int64_t refresh_period_ns) noexcept {
    if (!clock_) {
      clock_.emplace(frames_per_s_, now_ns);
    } else if (now_ns < not_before_ns_ || clock_->due_ns(tick_ + 1) > now_ns + refresh_period_ns / 2) {
      return std::nullopt;
    }
    const std::int64_t last = tick_;
    tick_ = clock_->next(last, now_ns);
    taken_ns_ = now_ns;
    const std::int64_t time_ns = clock_->offset_ns(tick_);
    return Moment{.time_ns = time_ns, .delta_ns = time_ns - clock_->offset_ns(std::max<std::int64_t>(last, 0))};
  }

  /// The GPU has worked for `cost_ns` on the frame that was taken last. For as long again it has time for the others.
  void drawn(std::int64_t cost_ns) noexcept { not_before_ns_ = taken_ns_ + 2 * cost_ns; }

 private:
  const double frames_per_s_;
  std::optional<TickClock> clock_;  // begins with the first frame
  std::int64_t tick_ = -1;
  std::int64_t taken_ns_ = 0;
  std::int64_t not_before_ns_ = INT64_MIN;
};

}  // namespace framewire
