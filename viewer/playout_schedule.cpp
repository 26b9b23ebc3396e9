#include "viewer/playout_schedule.hpp"

#include <algorithm>
#include <utility>

#include "base/saturating.hpp"

namespace framewire {

namespace {

/// The measured values are computed anew after so many frames, about once a second.
constexpr std::size_t evaluation_period = 64;
/// A frame that is quicker than the quickest by more than this has found another way, or the clocks were set.
constexpr std::int64_t quicker_way_ns = 2 * ns_per_ms;
/// Drift below this is not followed, so that noise does not move the time of all frames to and fro.
constexpr std::int64_t least_drift_ns = ns_per_ms / 4;
/// Drift is followed by a thousandth of the time that passes. Clocks differ by less than 0.02 %.
constexpr std::int64_t drift_divisor = 1000;
/// So many frames without a late one let the delay fall.
constexpr std::size_t fall_after_frames = 256;
/// Jitter must fall by so much before the delay does.
constexpr std::int64_t least_fall_ns = ns_per_ms;
constexpr std::int64_t recovery_ns = 500 * ns_per_ms;
/// Before so many frames nothing is said of a limit that is too short: the first ones of a stream come as they can.
constexpr std::size_t telling_frames = 256;
/// So many late frames beside the one of a thousand may have causes of their own.
constexpr std::size_t few_frames = 3;

}  // namespace

void PlayoutSchedule::restart() noexcept {
  base_ns_.reset();
  measured_ = 0;
  next_ = 0;
  unevaluated_ = 0;
  comes_too_late_ = false;
  hurried_ = 0;
}

void PlayoutSchedule::begin_at(std::int64_t offset_ns) noexcept {
  base_ns_ = offset_ns;
  drift_target_ns_ = offset_ns;
  measured_ = 0;
  next_ = 0;
  unevaluated_ = 0;
  comes_too_late_ = false;
}

void PlayoutSchedule::frame_arrived(std::int64_t pts_ns, std::int64_t received_ns) noexcept {
  const std::int64_t offset_ns = saturating_subtract(received_ns, pts_ns);
  if (!base_ns_ || saturating_subtract(*base_ns_, offset_ns) > quicker_way_ns) {
    begin_at(offset_ns);
  } else if (saturating_subtract(offset_ns, *base_ns_) > jitter_ns_ + guard_ns + stall_ns) {
    begin_at(offset_ns);
    recovering_until_ns_ = saturating_add(received_ns, recovery_ns);
  }
  if (received_ns >= recovering_until_ns_) {
    measure(offset_ns);
  }
  follow_drift(received_ns);
}

void PlayoutSchedule::measure(std::int64_t offset_ns) noexcept {
  offsets_ns_.at(next_) = offset_ns;
  next_ = (next_ + 1) % measured_frames;
  measured_ = std::min(measured_ + 1, measured_frames);
  if (++unevaluated_ < evaluation_period) {
    return;
  }
  unevaluated_ = 0;
  std::array<std::int64_t, measured_frames> sorted = offsets_ns_;
  const auto end = sorted.begin() + static_cast<std::ptrdiff_t>(measured_);
  // One of a thousand may be later: of fewer frames none.
  const auto highest = end - 1 - static_cast<std::ptrdiff_t>(measured_ / 1000);
  std::nth_element(sorted.begin(), highest, end);
  const std::int64_t late_ns = *highest;
  const std::int64_t quick_ns = *std::min_element(sorted.begin(), end);
  drift_target_ns_ = quick_ns;
  const std::int64_t jitter_ns = std::min(late_ns - quick_ns, longest_jitter_ns);
  if (jitter_ns > jitter_ns_ || (measured_ >= fall_after_frames && jitter_ns + least_fall_ns < jitter_ns_)) {
    jitter_ns_ = jitter_ns;
  }
  find_late(std::span(offsets_ns_).first(measured_), quick_ns);
}

void PlayoutSchedule::find_late(std::span<const std::int64_t> offsets_ns, std::int64_t quick_ns) noexcept {
  const auto late = std::ranges::count_if(
      offsets_ns, [&](std::int64_t offset_ns) { return offset_ns - quick_ns > longest_delay_ns_; });
  comes_too_late_ = measured_ >= telling_frames && static_cast<std::size_t>(late) > few_frames + measured_ / 1000;
}

void PlayoutSchedule::wait_for(std::int64_t common_need_ns) noexcept {
  common_need_ns_ = common_need_ns;
  const bool is_hurried = base_ns_ && saturating_subtract(common_need_ns, *base_ns_) > longest_delay_ns_;
  hurried_ = is_hurried ? hurried_ + 1 : 0;
}

std::optional<std::int64_t> PlayoutSchedule::denied_delay_ns() const noexcept {
  std::int64_t wanted_ns = comes_too_late_ ? jitter_ns_ + guard_ns : 0;
  if (hurried_ >= telling_frames) {
    wanted_ns = std::max(wanted_ns, saturating_subtract(*common_need_ns_, base_ns_.value_or(*common_need_ns_)));
  }
  return wanted_ns > longest_delay_ns_ ? std::optional(wanted_ns) : std::nullopt;
}

void PlayoutSchedule::follow_drift(std::int64_t received_ns) noexcept {
  const std::int64_t passed_ns =
      std::clamp<std::int64_t>(received_ns - std::exchange(last_received_ns_, received_ns), 0, ns_per_s);
  const std::int64_t step_ns = passed_ns / drift_divisor;
  const std::int64_t off_ns = drift_target_ns_ - *base_ns_;
  if (std::abs(off_ns) > least_drift_ns) {
    *base_ns_ += std::clamp(off_ns, -step_ns, step_ns);
  }
}

std::int64_t PlayoutSchedule::wait_ns() const noexcept {
  if (!common_need_ns_ || !base_ns_) {
    return delay_ns();
  }
  const std::int64_t wanted_ns = saturating_subtract(*common_need_ns_, *base_ns_);
  return std::clamp(wanted_ns, delay_ns(), std::max(delay_ns(), longest_delay_ns_));
}

std::int64_t PlayoutSchedule::due_ns(std::int64_t pts_ns, std::int64_t received_ns) const noexcept {
  const std::int64_t undelayed_ns = saturating_add(pts_ns, base_ns_.value_or(0));
  const std::int64_t latest_ns = saturating_add(received_ns, wait_ns());
  return std::clamp(saturating_add(undelayed_ns, wait_ns()), std::min(received_ns, latest_ns), latest_ns);
}

bool PlayoutSchedule::misses(std::int64_t pts_ns, std::int64_t received_ns) const noexcept {
  if (!common_need_ns_) {
    return false;
  }
  const std::int64_t wanted_ns = saturating_add(pts_ns, *common_need_ns_);
  return received_ns > wanted_ns || saturating_add(due_ns(pts_ns, received_ns), early_ns) < wanted_ns;
}

std::size_t PlayoutSchedule::count_due(std::span<const std::int64_t> due_ns, std::int64_t now_ns) noexcept {
  std::size_t count = due_ns.size();
  while (count > 0 && due_ns[count - 1] > now_ns) {
    --count;
  }
  // The first one may come a little early.
  return count == 0 && !due_ns.empty() && due_ns.front() <= saturating_add(now_ns, early_ns) ? 1 : count;
}

}  // namespace framewire
