// Selects which received frame to show. Logic only, for any frame type.
#pragma once

#include <optional>
#include <utility>

namespace framewire {

enum class FrameSelection {
  newest,      // for a screen: late frames are dropped
  newest_two,  // without a screen: shows both of two waiting frames, so that a short delay drops none; of more, the
               // newest
  every,       // each in turn; frames that are not pushed stay in the ring, which holds the sender back
};

/// Chooses the frame to show among those that wait. Not thread-safe; FrameQueue shares one between threads.
template <typename Frame>
class FrameSelector {
 public:
  explicit FrameSelector(FrameSelection rule) noexcept : rule_(rule) {}

  /// Takes effect from the next frame on.
  void set_rule(FrameSelection rule) noexcept { rule_ = rule; }

  /// Whether a frame may be pushed. Under `every` only when none waits.
  [[nodiscard]] bool has_room() const noexcept { return rule_ != FrameSelection::every || !first_; }

  /// Takes the next frame in order. `on_superseded(Frame&&)` gets each frame that will never be shown.
  template <typename OnSuperseded>
  void push(Frame frame, OnSuperseded&& on_superseded) {
    if (first_ && !second_ && rule_ == FrameSelection::newest_two) {
      second_.emplace(std::move(frame));
      return;
    }
    while (std::optional<Frame> older = pop()) {
      on_superseded(std::move(*older));
    }
    first_.emplace(std::move(frame));
  }

  [[nodiscard]] bool has_frame() const noexcept { return first_.has_value(); }

  /// The frame to show now, if any. The caller owns it.
  std::optional<Frame> pop() noexcept {
    std::optional<Frame> frame = std::exchange(first_, std::nullopt);
    std::swap(first_, second_);
    return frame;
  }

 private:
  FrameSelection rule_;
  std::optional<Frame> first_;
  std::optional<Frame> second_;  // set only if first_ is
};

}  // namespace framewire
