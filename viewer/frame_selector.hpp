// Which of the frames that have arrived is shown, and when a picture without a new frame is drawn again. Logic alone:
// frames of any type, and a clock that a test can turn.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>

#include "base/clock.hpp"

namespace framewire {

enum class FrameSelection {
  newest,         // a screen: what it cannot show in time is not worth showing
  nearly_newest,  // no screen sets a pace: of two frames both are shown, so that a hiccup costs none; of more, the
                  // newest
  every,          // each in turn; what is not taken in yet stays in the ring, which holds the sender back
};

/// Chooses the frame to show: takes in what there is, and names those that newer ones have superseded, which go back
/// without having been uploaded. One thread.
template <typename Frame>
class FrameSelector {
 public:
  /// Taking in stops after this long, so that a sender faster than any drawing cannot keep a picture from being drawn.
  static constexpr std::int64_t longest_drain_ns = 4 * ns_per_ms;

  FrameSelector(const Clock& clock, FrameSelection rule) noexcept : clock_(clock), rule_(rule) {}

  /// From the next frame on.
  void set_rule(FrameSelection rule) noexcept { rule_ = rule; }

  /// Takes in frames. `next()` returns an optional Frame, in order; `on_superseded(Frame&)` gets each that will never
  /// be shown.
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

  /// The frame to show now, if there is one. It is the caller's from here on.
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
  std::optional<Frame> second_;  // only while there is a first
};

/// When a picture is drawn again although no frame came: at once when asked to, and in steps while something moves in
/// it. The steps are as long as their cost demands, so that waiting for a sender stays cheap where the GPU is a CPU.
/// One thread.
class RedrawSchedule {
 public:
  static constexpr std::int64_t never_ns = INT64_MAX;
  static constexpr std::int64_t longest_step_ns = 4 * ns_per_s;
  /// A drawing that costs 1 ms of CPU is repeated every 125 ms: 0.8 % of a core.
  static constexpr std::int64_t steps_per_cost = 125;

  /// The first drawing is due after `delay_ns`.
  RedrawSchedule(const Clock& clock, std::int64_t delay_ns) noexcept
      : clock_(clock), due_ns_(clock.now_ns() + delay_ns) {}

  /// The picture has changed: draw it now.
  void request() noexcept { request_within(0); }
  /// The same, unless it is drawn anyway within `delay_ns`.
  void request_within(std::int64_t delay_ns) noexcept { due_ns_ = std::min(due_ns_, clock_.now_ns() + delay_ns); }

  /// It was drawn, which used `cost_ns` of CPU time, and should be drawn again after `step_ns` at the earliest, or
  /// never_ns. A single dear drawing, as the first one is, does not slow the next ones down.
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
  /// When is_due() turns true by itself, or never_ns.
  [[nodiscard]] std::int64_t due_ns() const noexcept { return due_ns_; }

 private:
  const Clock& clock_;
  std::int64_t due_ns_;
  std::int64_t last_cost_ns_ = 0;
};

}  // namespace framewire
