// Selects which received frame to show, and schedules redraws without a new frame. Logic only: any frame type, and a
// clock that tests can set.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>

#include "base/clock.hpp"

namespace framewire {

enum class FrameSelection {
  newest,         // for a screen: late frames are dropped
  nearly_newest,  // without a screen: shows both of two waiting frames, so that a short delay drops none; of more,
                  // the newest
  every,          // each in turn; frames not taken in yet stay in the ring, which holds the sender back
};

/// Chooses the frame to show. It takes in received frames and reports those that newer ones have superseded; they are
/// released without an upload. Used by one thread.
template <typename Frame>
class FrameSelector {
 public:
  /// Limit of one drain(), so that a sender that is faster than drawing cannot prevent drawing.
  static constexpr std::int64_t longest_drain_ns = 4 * ns_per_ms;

  FrameSelector(const Clock& clock, FrameSelection rule) noexcept : clock_(clock), rule_(rule) {}

  /// Takes effect from the next frame on.
  void set_rule(FrameSelection rule) noexcept { rule_ = rule; }

  /// Takes in frames. `next()` returns an optional Frame, in order. `on_superseded(Frame&)` gets each frame that will
  /// never be shown.
  template <typename Next, typename OnSuperseded>
  void drain(Next&& next, OnSuperseded&& on_superseded) {
    const std::int64_t deadline_ns = clock_.now_ns() + longest_drain_ns;
    while (!(rule_ == FrameSelection::every && first_)) {
      std::optional<Frame> frame = next();
      if (!frame) {
        return;
      }
      take_in(std::move(*frame), on_superseded);
      if (clock_.now_ns() >= deadline_ns) {
        return;
      }
    }
  }

  [[nodiscard]] bool has_frame() const noexcept { return first_.has_value(); }

  /// The frame to show now, if any. The caller owns it.
  std::optional<Frame> take() noexcept {
    std::optional<Frame> frame = std::exchange(first_, std::nullopt);
    std::swap(first_, second_);
    return frame;
  }

 private:
  template <typename OnSuperseded>
  void take_in(Frame frame, OnSuperseded& on_superseded) {
    if (first_ && !second_ && rule_ == FrameSelection::nearly_newest) {
      second_.emplace(std::move(frame));
      return;
    }
    while (std::optional<Frame> older = take()) {
      on_superseded(*older);
    }
    first_.emplace(std::move(frame));
  }

  const Clock& clock_;
  FrameSelection rule_;
  std::optional<Frame> first_;
  std::optional<Frame> second_;  // set only if first_ is
};

/// Schedules drawing without a new frame: at once on request, and in steps while something is animated. The steps grow
/// with the cost of drawing, so that waiting for a sender stays cheap on software renderers. Used by one thread.
class RedrawSchedule {
 public:
  static constexpr std::int64_t never_ns = INT64_MAX;
  static constexpr std::int64_t longest_step_ns = 4 * ns_per_s;
  /// Drawing that costs 1 ms of CPU time repeats every 125 ms: 0.8 % of a core.
  static constexpr std::int64_t steps_per_cost = 125;

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
    const std::int64_t affordable_ns = std::min(typical_cost_ns * steps_per_cost, longest_step_ns);
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
