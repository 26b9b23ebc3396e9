// Decides when a frame is shown by its presentation time. Logic only.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "base/clock.hpp"
#include "base/saturating.hpp"

namespace framewire {

/// What a schedule has measured.
struct Pacing {
  std::int64_t jitter_ns = 0;  // 99.9 % of the frames arrive that much later than the quickest, at most
  std::int64_t delay_ns = 0;   // from a frame's quickest arrival to its choice
};

/// Shows each frame at its presentation time plus one delay for all, so that frames that arrive unevenly are shown
/// evenly. The delay is the 99.9th percentile of how much later than the quickest frame the others arrive, measured
/// over the last frames, and a guard. It follows that measurement in both directions. Clocks that drift apart are
/// followed slowly; a stall makes it start again. Not thread-safe.
///
/// Times are this machine's monotonic clock; presentation times have an origin of their own, and may be anything.
class PlayoutSchedule {
 public:
  /// So many frames are measured.
  static constexpr std::size_t measured_frames = 1024;
  /// Added to the measured jitter: a thread wakes up that late.
  static constexpr std::int64_t guard_ns = ns_per_ms;
  /// Of a stream of which nothing is known yet.
  static constexpr std::int64_t first_jitter_ns = 4 * ns_per_ms;
  /// The delay does not follow more jitter than this.
  static constexpr std::int64_t longest_jitter_ns = 200 * ns_per_ms;
  /// A frame that is so much later than the others follows a stall, and says nothing about jitter.
  static constexpr std::int64_t stall_ns = 50 * ns_per_ms;
  /// A frame may be shown so much before its time, if that makes it the next one in turn: presentation times that are
  /// rounded must not repeat one frame and skip another where frames and refreshes cross.
  static constexpr std::int64_t early_ns = 2 * ns_per_ms;

  /// A frame of the stream has come.
  void frame_arrived(std::int64_t pts_ns, std::int64_t received_ns) noexcept;
  /// The next frame is of another session or format: presentation times begin anew.
  void restart() noexcept;

  /// The delay is not to be longer than this: more frames than that would wait.
  void limit_delay(std::int64_t longest_ns) noexcept { longest_delay_ns_ = std::max(longest_ns, guard_ns); }

  /// From a frame's presentation time to its choice, as this stream alone needs it; nothing before the first frame.
  [[nodiscard]] std::optional<std::int64_t> need_ns() const noexcept {
    return base_ns_ ? std::optional(saturating_add(*base_ns_, delay_ns())) : std::nullopt;
  }
  /// The same as several streams need it that are shown together. This one waits for them, as long as the ring allows.
  void wait_for(std::int64_t common_need_ns) noexcept;
  /// Whether a frame came too late for what wait_for() said, or could not wait long enough.
  [[nodiscard]] bool misses(std::int64_t pts_ns, std::int64_t received_ns) const noexcept;

  /// When a frame is to be chosen: not before its arrival, and never later than the delay after it, whatever its
  /// presentation time.
  [[nodiscard]] std::int64_t due_ns(std::int64_t pts_ns, std::int64_t received_ns) const noexcept;
  /// Of frames that wait, by their due_ns() and oldest first: how many have reached their time at `now_ns`. The last of
  /// them is to be shown now, those before it never. A frame has reached it, too, if a later one has.
  [[nodiscard]] static std::size_t count_due(std::span<const std::int64_t> due_ns, std::int64_t now_ns) noexcept;

  /// How long frames should wait, if limit_delay() does not let them: so that they are shown evenly, or because of
  /// wait_for(). Nothing if they may, or before enough frames were measured to tell.
  [[nodiscard]] std::optional<std::int64_t> denied_delay_ns() const noexcept;

  [[nodiscard]] std::int64_t jitter_ns() const noexcept { return jitter_ns_; }
  [[nodiscard]] std::int64_t delay_ns() const noexcept { return std::min(jitter_ns_ + guard_ns, longest_delay_ns_); }
  [[nodiscard]] Pacing pacing() const noexcept { return {.jitter_ns = jitter_ns_, .delay_ns = wait_ns()}; }

 private:
  /// From a frame's quickest arrival to its choice.
  [[nodiscard]] std::int64_t wait_ns() const noexcept;
  void follow_drift(std::int64_t received_ns) noexcept;
  void measure(std::int64_t offset_ns) noexcept;
  void find_late(std::span<const std::int64_t> offsets_ns, std::int64_t quick_ns) noexcept;
  void begin_at(std::int64_t offset_ns) noexcept;

  /// Arrival minus presentation time of the quickest frames; empty before the first frame.
  std::optional<std::int64_t> base_ns_;
  std::optional<std::int64_t> common_need_ns_;
  std::int64_t jitter_ns_ = first_jitter_ns;
  std::int64_t longest_delay_ns_ = longest_jitter_ns + guard_ns;
  std::int64_t last_received_ns_ = 0;
  std::int64_t recovering_until_ns_ = INT64_MIN;            // after a stall nothing is measured
  std::array<std::int64_t, measured_frames> offsets_ns_{};  // of the last frames, as a ring
  std::size_t measured_ = 0;                                // how many of them there are
  std::size_t next_ = 0;
  std::size_t unevaluated_ = 0;       // since jitter and drift were last computed
  std::int64_t drift_target_ns_ = 0;  // base_ns_ moves there
  bool comes_too_late_ = false;       // more than a few of the measured frames came later than the limit allows
  std::size_t hurried_ = 0;           // so many frames in turn could not wait for what wait_for() said
};

}  // namespace framewire
