// Tells when the next frame of a fixed-rate animation is due.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace framewire {

/// Ticks at a fixed rate from a start time. A late caller skips ticks instead of catching up, so the animation keeps
/// its speed. A value; the caller passes the time.
class TickClock {
 public:
  /// `frames_per_s` above 0.
  TickClock(double frames_per_s, std::int64_t start_ns) noexcept
      : period_ns_(1e9 / frames_per_s), start_ns_(start_ns) {}

  [[nodiscard]] std::int64_t offset_ns(std::int64_t tick) const noexcept {
    return std::llround(static_cast<double>(tick) * period_ns_);  // from the start, so that errors do not add up
  }
  [[nodiscard]] std::int64_t due_ns(std::int64_t tick) const noexcept { return start_ns_ + offset_ns(tick); }

  /// The tick to draw next: the newest that is due at `now_ns`, or the one after `last` when that one has been drawn.
  [[nodiscard]] std::int64_t next(std::int64_t last, std::int64_t now_ns) const noexcept {
    auto newest = static_cast<std::int64_t>(static_cast<double>(now_ns - start_ns_) / period_ns_);
    newest += due_ns(newest + 1) <= now_ns ? 1 : 0;  // the division may have rounded to just below the tick
    return std::max(last + 1, newest);
  }

 private:
  double period_ns_;
  std::int64_t start_ns_;
};

}  // namespace framewire
