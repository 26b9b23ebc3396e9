// Holds the frames that wait for drawing. Logic only, for any frame type.
#pragma once

#include <algorithm>
#include <cstddef>
#include <optional>
#include <utility>

#include "base/fixed_queue.hpp"

namespace framewire {

enum class FrameSelection {
  newest,       // for a screen: late frames are dropped
  newest_two,   // without a screen: shows both of two waiting frames, so that a short delay drops none; of more, the
                // newest
  every,        // each in turn; frames that are not pushed stay in the ring, which holds the sender back
  paced,        // by presentation time (PlayoutSchedule); of too many the oldest is dropped
  paced_every,  // each in turn, not before its presentation time; and as `every`
  tagged,       // those whose user tag is chosen (FrameQueue::choose()); who pushes drops those for which there is
                // no room
};

constexpr bool is_paced(FrameSelection rule) noexcept {
  return rule == FrameSelection::paced || rule == FrameSelection::paced_every;
}

/// Keeps the frames among which one is chosen, in order. Not thread-safe; FrameQueue shares one between threads.
template <typename Frame>
class FrameSelector {
 public:
  /// The most that wait under any rule. A ring has 3 slots by default, and up to 64 (--slots).
  static constexpr std::size_t most_waiting = 8;

  explicit FrameSelector(FrameSelection rule) : rule_(rule) {}

  /// Takes effect from the next frame on.
  void set_rule(FrameSelection rule) noexcept { rule_ = rule; }
  /// So many frames wait at most under the rules that let several wait; 1 to most_waiting.
  void set_most_waiting(std::size_t count) noexcept { allowed_ = std::clamp<std::size_t>(count, 1, most_waiting); }
  [[nodiscard]] std::size_t allowed() const noexcept { return allowed_; }
  [[nodiscard]] FrameSelection rule() const noexcept { return rule_; }

  /// Whether a frame may be pushed. Under `every` and `paced_every` only while there is room.
  [[nodiscard]] bool has_room() const noexcept {
    const bool keeps_all = rule_ == FrameSelection::every || rule_ == FrameSelection::paced_every;
    return !keeps_all || frames_.size() < capacity();
  }

  /// Takes the next frame in order. `on_superseded(Frame&&)` gets each frame that will never be shown.
  template <typename OnSuperseded>
  void push(Frame frame, OnSuperseded&& on_superseded) {
    const bool drops_oldest = is_paced(rule_) || rule_ == FrameSelection::tagged;  // else all older ones
    const std::size_t most_before = drops_oldest || frames_.size() < capacity() ? capacity() - 1 : 0;
    while (frames_.size() > most_before) {
      on_superseded(std::move(*pop()));
    }
    frames_.push(std::optional<Frame>(std::move(frame)));
  }

  [[nodiscard]] bool has_frame() const noexcept { return !frames_.empty(); }
  [[nodiscard]] std::size_t size() const noexcept { return frames_.size(); }
  /// The frame behind `before` others; size() > before.
  [[nodiscard]] const Frame& at(std::size_t before) const noexcept { return *frames_.at(before); }

  /// A frame that pop() returned, behind the others.
  void put_back(Frame frame) { frames_.push(std::optional<Frame>(std::move(frame))); }

  /// The frame that has waited longest, if any. The caller owns it.
  std::optional<Frame> pop() noexcept { return frames_.empty() ? std::nullopt : frames_.pop(); }

 private:
  [[nodiscard]] std::size_t capacity() const noexcept {
    switch (rule_) {
      case FrameSelection::newest:
      case FrameSelection::every:
        return 1;
      case FrameSelection::newest_two:
        return 2;
      case FrameSelection::tagged:
        return most_waiting;
      case FrameSelection::paced:
      case FrameSelection::paced_every:
        break;
    }
    return allowed_;
  }

  FrameSelection rule_;
  std::size_t allowed_ = most_waiting;
  FixedQueue<std::optional<Frame>> frames_{most_waiting};
};

}  // namespace framewire
