// Selects which received frame to show. Logic only: any frame type, and a clock that tests can set.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>

#include "base/clock.hpp"

namespace framewire {

enum class FrameSelection {
  newest,      // for a screen: late frames are dropped
  newest_two,  // without a screen: shows both of two waiting frames, so that a short delay drops none; of more, the
               // newest
  every,       // each in turn; frames not pushed yet stay in the ring, which holds the sender back
};

/// Chooses the frame to show. It takes received frames and reports those that newer ones have superseded; they are
/// released without an upload. Used by one thread.
template <typename Frame>
class FrameSelector {
 public:
  /// Limit of one drain(), so that a sender that is faster than drawing cannot prevent drawing.
  static constexpr std::int64_t longest_drain_ns = 4 * ns_per_ms;

  FrameSelector(const Clock& clock, FrameSelection rule) noexcept : clock_(clock), rule_(rule) {}

  /// Takes effect from the next frame on.
  void set_rule(FrameSelection rule) noexcept { rule_ = rule; }

  /// Takes frames. `next()` returns an optional Frame, in order. `on_superseded(Frame&)` gets each frame that will
  /// never be shown.
  template <typename Next, typename OnSuperseded>
  void drain(Next&& next, OnSuperseded&& on_superseded) {
    const std::int64_t deadline_ns = clock_.now_ns() + longest_drain_ns;
    while (!(rule_ == FrameSelection::every && first_)) {
      std::optional<Frame> frame = next();
      if (!frame) {
        return;
      }
      push(std::move(*frame), on_superseded);
      if (clock_.now_ns() >= deadline_ns) {
        return;
      }
    }
  }

  [[nodiscard]] bool has_frame() const noexcept { return first_.has_value(); }

  /// The frame to show now, if any. The caller owns it.
  std::optional<Frame> pop() noexcept {
    std::optional<Frame> frame = std::exchange(first_, std::nullopt);
    std::swap(first_, second_);
    return frame;
  }

 private:
  template <typename OnSuperseded>
  void push(Frame frame, OnSuperseded& on_superseded) {
    if (first_ && !second_ && rule_ == FrameSelection::newest_two) {
      second_.emplace(std::move(frame));
      return;
    }
    while (std::optional<Frame> older = pop()) {
      on_superseded(*older);
    }
    first_.emplace(std::move(frame));
  }

  const Clock& clock_;
  FrameSelection rule_;
  std::optional<Frame> first_;
  std::optional<Frame> second_;  // set only if first_ is
};

}  // namespace framewire
