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

  /// A tick's time in the animation: 0 for tick 0.
  [[nodiscard]] std::int64_t offset_ns(std::int64_t tick) const noexcept {
    // From the first tick of the period, so that errors do not add up.
    return first_offset_ns_ + std::llround(static_cast<double>(tick - first_tick_) * period_ns_);
  }
  [[nodiscard]] std::int64_t due_ns(std::int64_t tick) const noexcept { return start_ns_ + offset_ns(tick); }

  /// From the tick after `last` on, ticks have this period, and are due later by `shift_ns`. The animation itself goes
  /// on evenly.
  void change(std::int64_t last, std::int64_t period_ns, std::int64_t shift_ns) noexcept {
    first_offset_ns_ = offset_ns(last);
    first_tick_ = last;
    period_ns_ = static_cast<double>(period_ns);
    start_ns_ += shift_ns;
  }

  /// The tick to draw next: the newest that is due at `now_ns`, or the one after `last` when that one has been drawn.
  [[nodiscard]] std::int64_t next(std::int64_t last, std::int64_t now_ns) const noexcept {
    const auto passed_ns = static_cast<double>(now_ns - start_ns_ - first_offset_ns_);
    auto newest = first_tick_ + static_cast<std::int64_t>(passed_ns / period_ns_);
    newest += due_ns(newest + 1) <= now_ns ? 1 : 0;  // the division may have rounded to just below the tick
    return std::max(last + 1, newest);
  }

 private:
  double period_ns_;
  std::int64_t start_ns_;
  std::int64_t first_tick_ = 0;  // of this period
  std::int64_t first_offset_ns_ = 0;
};

}  // namespace framewire
