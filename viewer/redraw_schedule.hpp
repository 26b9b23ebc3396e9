// Schedules redraws without a new frame. Logic only, with a clock that tests can set.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>

#include "base/clock.hpp"

namespace framewire {

/// Schedules drawing without a new frame: at once on request, and in steps while something is animated. The steps grow
/// with the cost of drawing, so that waiting for a sender stays cheap on software renderers. Used by one thread.
class RedrawSchedule {
 public:
  static constexpr std::int64_t never_ns = INT64_MAX;
  static constexpr std::int64_t longest_step_ns = 4 * ns_per_s;
  /// Time from draw to draw by the CPU time of one: what costs 1 ms repeats every 125 ms, for 0.8 % of a core.
  static constexpr std::int64_t idle_per_cost_ratio = 125;

  /// The first draw is due after `delay_ns`.
  RedrawSchedule(const Clock& clock, std::int64_t delay_ns) noexcept
      : clock_(clock), due_ns_(clock.now_ns() + delay_ns) {}

  /// The picture has changed: draw now.
  void request() noexcept { request_within(0); }
  /// The picture has changed: draw within `delay_ns`.
  void request_within(std::int64_t delay_ns) noexcept { due_ns_ = std::min(due_ns_, clock_.now_ns() + delay_ns); }

  /// The picture was drawn, at a cost of `cost_ns` CPU time. The next draw is due after `step_ns` at the earliest, or
  /// never (never_ns). A single expensive draw, such as the first, does not slow down the next ones.
  void drawn(std::int64_t cost_ns, std::int64_t step_ns) noexcept {
    const std::int64_t typical_cost_ns = std::min(cost_ns, std::exchange(last_cost_ns_, cost_ns));
    if (step_ns == never_ns) {
      due_ns_ = never_ns;
      return;
    }
    const std::int64_t affordable_ns = std::min(typical_cost_ns * idle_per_cost_ratio, longest_step_ns);
    due_ns_ = clock_.now_ns() + std::max(step_ns, affordable_ns);
  }

  [[nodiscard]] bool is_due() const noexcept { return clock_.now_ns() >= due_ns_; }
  /// When is_due() becomes true, or never_ns.
  [[nodiscard]] std::int64_t due_ns() const noexcept { return due_ns_; }

 private:
  const Clock& clock_;
  std::int64_t due_ns_;
  std::int64_t last_cost_ns_ = 0;
};

}  // namespace framewire
