// Tells a source when to render, so that its frames arrive just before they are chosen. Logic only.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <utility>

#include "base/clock.hpp"
#include "transport/source_cadence.hpp"
#include "viewer/refresh_schedule.hpp"

namespace framewire {

/// Whether to say that --cadence has no effect. The first estimates of a screen's refreshes are rough, so that only
/// many frames in a row show it.
class LastingMisfit {
 public:
  static constexpr int enough_frames = 300;

  /// Of one frame: whether its stream's rate fits the screen's, as that is known now. True once at most: say it.
  [[nodiscard]] bool is_to_be_said(bool fits) noexcept {
    frames_ = fits ? 0 : std::min(frames_ + 1, enough_frames);
    return frames_ >= enough_frames && !std::exchange(has_said_, true);
  }

 private:
  int frames_ = 0;
  bool has_said_ = false;
};

/// Measures how long frames wait for their choice, and asks the source to render later or earlier by that, and as often
/// as the screen is refreshed (or every second, third … refresh). Not thread-safe.
class CadenceControl {
 public:
  /// So many frames are measured for one request.
  static constexpr std::size_t window = 48;
  /// Frames whose requests are still on their way are not measured.
  static constexpr std::size_t settling_frames = 12;
  /// Of the frames of a window, the last one to arrive does so this long before its choice.
  static constexpr std::int64_t guard_ns = ns_per_ms;
  /// The same after a request that the sender has refused: it may follow once another viewer has left.
  static constexpr std::size_t refused_frames = 600;
  /// Less than this is not worth a request.
  static constexpr std::int64_t least_shift_ns = ns_per_ms / 4;

  /// The period for a source of `frames_per_s`: a whole number of refreshes, if that is within 2 % of its own; else
  /// nothing.
  static std::optional<std::int64_t> period_for(double frames_per_s, std::int64_t refresh_period_ns) noexcept {
    if (!(frames_per_s > 0) || refresh_period_ns <= 0) {
      return std::nullopt;
    }
    const double own_ns = 1e9 / frames_per_s;
    const double refreshes = std::max(std::round(own_ns / static_cast<double>(refresh_period_ns)), 1.0);
    const double period_ns = refreshes * static_cast<double>(refresh_period_ns);
    return std::abs(period_ns - own_ns) <= own_ns / 50 ? std::optional(std::llround(period_ns)) : std::nullopt;
  }

  /// Whether the sender has refused the last request.
  void set_refused(bool is_refused) noexcept { is_refused_ = is_refused; }

  /// A frame that arrived at `received_ns` was chosen at `choice_ns`. Returns what to ask for, if anything.
  /// `period_ns`: of period_for().
  std::optional<CadenceRequest> frame_chosen(std::int64_t received_ns, std::int64_t choice_ns, std::int64_t period_ns,
                                             std::int64_t refresh_period_ns) noexcept {
    if (to_skip_ > 0) {
      --to_skip_;
      return std::nullopt;
    }
    waits_ns_.at(count_++) = positive_modulo(choice_ns - received_ns, refresh_period_ns);
    if (count_ < window) {
      return std::nullopt;
    }
    count_ = 0;
    const std::optional<std::int64_t> shortest_ns = shortest_wait_ns(refresh_period_ns);
    const std::int64_t shift_ns = shortest_ns ? *shortest_ns - guard_ns : 0;
    // Measured refreshes vary a little; shifts make up for that.
    const bool is_new_period = std::abs(period_ns - asked_period_ns_) > period_ns / 1000;
    if (std::abs(shift_ns) < least_shift_ns && !is_new_period) {
      return std::nullopt;
    }
    asked_period_ns_ = period_ns;
    to_skip_ = is_refused_ ? refused_frames : settling_frames;
    return CadenceRequest{.period_ns = period_ns, .shift_ns = shift_ns};
  }

  /// Another session begins.
  void restart() noexcept {
    count_ = 0;
    to_skip_ = 0;
    asked_period_ns_ = 0;
    is_refused_ = false;
  }

 private:
  static std::int64_t positive_modulo(std::int64_t value, std::int64_t modulus) noexcept {
    const std::int64_t rest = value % modulus;
    return rest < 0 ? rest + modulus : rest;
  }

  /// Waits are taken modulo one refresh: a frame that comes a little too late waits for the next one. The frames lie
  /// together outside the largest gap, and the one just after it waits shortest; below zero if it is too late. Nothing
  /// if they lie everywhere, because they arrive too unevenly: no shift would help.
  [[nodiscard]] std::optional<std::int64_t> shortest_wait_ns(std::int64_t refresh_period_ns) noexcept {
    std::ranges::sort(waits_ns_);
    std::size_t after_gap = 0;
    std::int64_t largest_ns = waits_ns_.front() + refresh_period_ns - waits_ns_.back();
    for (std::size_t i = 1; i < waits_ns_.size(); ++i) {
      if (waits_ns_.at(i) - waits_ns_.at(i - 1) > largest_ns) {
        largest_ns = waits_ns_.at(i) - waits_ns_.at(i - 1);
        after_gap = i;
      }
    }
    if (largest_ns < refresh_period_ns / 4) {
      return std::nullopt;
    }
    const std::int64_t wait_ns = waits_ns_.at(after_gap);
    return after_gap == 0 || wait_ns < refresh_period_ns / 2 ? wait_ns : wait_ns - refresh_period_ns;
  }

  std::array<std::int64_t, window> waits_ns_{};
  std::size_t count_ = 0;
  std::size_t to_skip_ = 0;
  std::int64_t asked_period_ns_ = 0;
  bool is_refused_ = false;
};

}  // namespace framewire
