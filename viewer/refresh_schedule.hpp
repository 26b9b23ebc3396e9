// When the next frame is chosen for a screen that is refreshed at regular times. Logic only.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "base/clock.hpp"

namespace framewire {

/// A screen's refreshes: one at `next_ns` (monotonic), and then one every `period_ns`.
struct Refresh {
  std::int64_t next_ns = 0;
  std::int64_t period_ns = 0;
};

/// Predicts refreshes from those that were observed: a time, and a count that rises by 1 with each. Not thread-safe.
class RefreshModel {
 public:
  /// Without an observation for this long nothing is predicted.
  static constexpr std::int64_t longest_memory_ns = ns_per_s;

  /// Observations that contradict each other (a period outside 2 ms … 100 ms, a count that goes back) begin anew.
  void observe(std::int64_t refresh_ns, std::uint64_t count) noexcept {
    if (size_ > 0 && (count <= newest().count || refresh_ns <= newest().at_ns)) {
      size_ = 0;
    }
    newest_ = (newest_ + 1) % observations_.size();
    observations_.at(newest_) = {refresh_ns, count};
    size_ = std::min(size_ + 1, observations_.size());
    if (size_ > 1 && !is_plausible(period_ns())) {
      size_ = 1;
    }
  }

  /// The first refresh after `now_ns`; nothing if none can be told.
  [[nodiscard]] std::optional<Refresh> next_after(std::int64_t now_ns) const noexcept {
    if (size_ < 2 || now_ns - newest().at_ns > longest_memory_ns) {
      return std::nullopt;
    }
    const std::int64_t period = period_ns();
    const std::int64_t passed_ns = std::max<std::int64_t>(now_ns - newest().at_ns, 0);
    return Refresh{newest().at_ns + (passed_ns / period + 1) * period, period};
  }

 private:
  struct Observation {
    std::int64_t at_ns = 0;
    std::uint64_t count = 0;
  };

  [[nodiscard]] const Observation& newest() const noexcept { return observations_.at(newest_); }
  [[nodiscard]] std::int64_t period_ns() const noexcept {
    const Observation& oldest = observations_.at((newest_ + observations_.size() + 1 - size_) % observations_.size());
    return (newest().at_ns - oldest.at_ns) / static_cast<std::int64_t>(newest().count - oldest.count);
  }
  static bool is_plausible(std::int64_t period_ns) noexcept {
    return period_ns >= 2 * ns_per_ms && period_ns <= 100 * ns_per_ms;
  }

  std::array<Observation, 32> observations_{};
  std::size_t newest_ = 0;
  std::size_t size_ = 0;
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

  /// A choice was made for the refresh that choice_ns() was about, whether there was a frame or not.
  void chosen() noexcept {
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
    // Who needs nearly a whole period draws without a break.
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
