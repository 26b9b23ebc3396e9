#include "transport/source_cadence.hpp"

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "base/clock.hpp"
#include "base/saturating.hpp"

namespace framewire {

namespace {

/// A viewer may change the period by this part of it at most: 60 Hz for a source of 59.94, not for one of 50.
constexpr std::int64_t period_share = 50;
/// In this time one period may be shifted, so that no viewer makes a source render much faster or slower.
constexpr std::int64_t shift_window_ns = 250 * ns_per_ms;

}  // namespace

void SourceCadence::offer(std::int64_t period_ns) noexcept {
  const std::scoped_lock lock(mutex_);
  own_period_ns_ = period_ns;
}

std::optional<CadenceRequest> SourceCadence::take_change() noexcept {
  const std::scoped_lock lock(mutex_);
  return std::exchange(change_, std::nullopt);
}

std::string SourceCadence::ask(const void* session, const CadenceRequest& request, std::int64_t now_ns) {
  const std::scoped_lock lock(mutex_);
  if (own_period_ns_ == 0) {
    return "this source has times of its own: it is a file or live, or its sender runs with --no-pace";
  }
  if (owner_ != nullptr && owner_ != session) {
    return "another viewer has asked for its cadence before";
  }
  const std::int64_t difference_ns = saturating_subtract(request.period_ns, own_period_ns_);
  if (difference_ns > own_period_ns_ / period_share || difference_ns < -own_period_ns_ / period_share) {
    return "a frame every " + std::to_string(request.period_ns) + " ns is too far from this source's " +
           std::to_string(own_period_ns_);
  }
  owner_ = session;
  if (now_ns - shifts_since_ns_ >= shift_window_ns) {
    shifts_since_ns_ = now_ns;
    shifted_ns_ = 0;
  }
  const std::int64_t allowed_ns = own_period_ns_ - shifted_ns_;
  const std::int64_t shift_ns = std::clamp(request.shift_ns, -allowed_ns, allowed_ns);
  shifted_ns_ += std::abs(shift_ns);
  const std::int64_t earlier_ns = change_ ? change_->shift_ns : 0;
  change_ = CadenceRequest{.period_ns = request.period_ns, .shift_ns = saturating_add(earlier_ns, shift_ns)};
  return {};
}

void SourceCadence::forget(const void* session) noexcept {
  const std::scoped_lock lock(mutex_);
  if (owner_ == session) {
    owner_ = nullptr;
    change_ = CadenceRequest{.period_ns = own_period_ns_, .shift_ns = 0};
  }
}

}  // namespace framewire
