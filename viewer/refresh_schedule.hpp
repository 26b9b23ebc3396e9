// When the next frame is chosen for a screen that is refreshed at regular times. Logic only.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "base/clock.hpp"

namespace framewire {

/// A screen's refreshes: one at `next_ns` (monotonic), and then one every `period_ns`.
struct Refresh {
  std::int64_t next_ns = 0;
  std::int64_t period_ns = 0;
  std::uint64_t number = 0;  // of that one, by the screen's own count
};

/// Predicts refreshes from those that were observed: a time, and a count that rises by 1 with each. Fits a line through
/// the last observations (least squares), for a server may notice a refresh late. Not thread-safe.
class RefreshModel {
 public:
  /// Without an observation for this long nothing is predicted.
  static constexpr std::int64_t longest_memory_ns = ns_per_s;
  static constexpr std::size_t fewest_observations = 4;

  /// Observations that contradict each other (a count that goes back, a period outside 0.9 ms … 100 ms, or another one
  /// than before) begin anew.
  void observe(std::int64_t refresh_ns, std::uint64_t count) noexcept {
    if (size_ > 0 && count == newest().count) {
      return;  // two answers about one refresh
    }
    if (size_ > 0 && (count < newest().count || refresh_ns <= newest().at_ns || is_another_period(refresh_ns, count))) {
      size_ = 0;
    }
    newest_ = (newest_ + 1) % observations_.size();
    observations_.at(newest_) = {refresh_ns, count};
    size_ = std::min(size_ + 1, observations_.size());
    fit();
    if (size_ >= fewest_observations && (period_ns_ < 0.9e6 || period_ns_ > 100e6)) {
      size_ = 1;
    }
  }

  /// The first refresh after `now_ns`; nothing if none can be told.
  [[nodiscard]] std::optional<Refresh> next_after(std::int64_t now_ns) const noexcept {
    if (size_ < fewest_observations || now_ns - newest().at_ns > longest_memory_ns) {
      return std::nullopt;
    }
    const double passed_ns = static_cast<double>(now_ns - newest().at_ns) - phase_ns_;
    const double count = std::floor(passed_ns / period_ns_) + 1;
    const std::int64_t next_ns = newest().at_ns + std::llround(phase_ns_ + count * period_ns_);
    return Refresh{std::max(next_ns, now_ns + 1), std::llround(period_ns_),
                   newest().count + static_cast<std::uint64_t>(std::llround(count))};
  }

 private:
  struct Observation {
    std::int64_t at_ns = 0;
    std::uint64_t count = 0;
  };

  [[nodiscard]] const Observation& newest() const noexcept { return observations_.at(newest_); }
  [[nodiscard]] const Observation& before_newest(std::size_t before) const noexcept {
    return observations_.at((newest_ + observations_.size() - before) % observations_.size());
  }

  /// A step of 20 refreshes and more that differs by a tenth: the window is on another screen, or its mode has changed.
  /// Shorter ones are too uneven to tell.
  [[nodiscard]] bool is_another_period(std::int64_t refresh_ns, std::uint64_t count) const noexcept {
    constexpr std::size_t steps = 20;
    if (size_ <= 2 * steps) {
      return false;
    }
    const Observation& earlier = before_newest(steps);
    const double recent_ns =
        static_cast<double>(refresh_ns - earlier.at_ns) / static_cast<double>(count - earlier.count);
    return std::abs(recent_ns - period_ns_) > period_ns_ / 10;
  }

  /// at_ns = phase + count * period, both relative to the newest observation.
  void fit() noexcept {
    double sum_x = 0, sum_y = 0, sum_xx = 0, sum_xy = 0;
    for (std::size_t i = 0; i < size_; ++i) {
      const Observation& observation = before_newest(i);
      const double x = -static_cast<double>(newest().count - observation.count);
      const double y = -static_cast<double>(newest().at_ns - observation.at_ns);
      sum_x += x;
      sum_y += y;
      sum_xx += x * x;
      sum_xy += x * y;
    }
    const auto n = static_cast<double>(size_);
    const double spread = n * sum_xx - sum_x * sum_x;
    period_ns_ = spread > 0 ? (n * sum_xy - sum_x * sum_y) / spread : 0;
    phase_ns_ = (sum_y - period_ns_ * sum_x) / n;
  }

  std::array<Observation, 128> observations_{};
  std::size_t newest_ = 0;
  std::size_t size_ = 0;
  double period_ns_ = 0;
  double phase_ns_ = 0;  // where the line has the newest observation
};

/// Chooses a frame as late as its upload and drawing allow, so that the newest one is shown; at most one for each
/// refresh. Without known refreshes a frame is chosen at once. Not thread-safe.
class RefreshSchedule {
 public:
  /// Added to the measured time: a thread wakes up that late.
  static constexpr std::int64_t guard_ns = ns_per_ms;

  /// When a frame is to be chosen, if one waits: in the past, or at `now_ns`, for at once.
  std::int64_t choice_ns(const std::optional<Refresh>& refresh, std::int64_t now_ns) noexcept {
    if (!refresh) {
      target_ns_.reset();
      return now_ns;
    }
    const std::int64_t lead_ns = lead_for(refresh->period_ns);
    if (target_ns_ && now_ns < *target_ns_) {
      return *target_ns_ - lead_ns;
    }
    std::int64_t target_ns = refresh->next_ns;
    while (target_ns - last_target_ns_ < refresh->period_ns / 2 || target_ns - now_ns < lead_ns - guard_ns) {
      target_ns += refresh->period_ns;
    }
    target_ns_ = target_ns;
    return target_ns - lead_ns;
  }

  /// The choice for the refresh that choice_ns() was about was made, whether there was a frame or not.
  void choice_made() noexcept {
    if (target_ns_) {
      last_target_ns_ = *target_ns_;
      target_ns_.reset();
    }
  }

  /// From the choice of a frame until it was ready to be presented.
  void drawn(std::int64_t cost_ns) noexcept {
    costs_ns_.at(next_cost_) = cost_ns;
    next_cost_ = (next_cost_ + 1) % costs_ns_.size();
    cost_count_ = std::min(cost_count_ + 1, costs_ns_.size());
    if (next_cost_ % evaluation_period == 0) {
      adapt_lead();
    }
  }

  /// How long before a refresh the choice is made.
  [[nodiscard]] std::int64_t lead_for(std::int64_t period_ns) const noexcept {
    // A viewer that needs nearly a whole period for drawing chooses the next frame at once.
    return std::min(lead_ns_, period_ns * 9 / 10);
  }

 private:
  /// The 95th percentile of the last costs. It follows a fall only if that is large: each change moves the choice of
  /// all frames.
  void adapt_lead() noexcept {
    std::array<std::int64_t, cost_window> sorted = costs_ns_;
    const auto end = sorted.begin() + static_cast<std::ptrdiff_t>(cost_count_);
    const auto p95 = sorted.begin() + static_cast<std::ptrdiff_t>((cost_count_ - 1) * 95 / 100);
    std::nth_element(sorted.begin(), p95, end);
    const std::int64_t wanted_ns = *p95 + guard_ns;
    if (wanted_ns > lead_ns_ || wanted_ns + fall_ns < lead_ns_) {
      lead_ns_ = wanted_ns;
    }
  }

  static constexpr std::size_t cost_window = 512;
  static constexpr std::size_t evaluation_period = 16;
  static constexpr std::int64_t fall_ns = 2 * ns_per_ms;

  std::array<std::int64_t, cost_window> costs_ns_{};
  std::size_t next_cost_ = 0;
  std::size_t cost_count_ = 0;
  std::int64_t lead_ns_ = 4 * ns_per_ms;   // until something was drawn
  std::optional<std::int64_t> target_ns_;  // the refresh that is being waited for
  std::int64_t last_target_ns_ = INT64_MIN / 2;
};

}  // namespace framewire
