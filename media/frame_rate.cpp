#include "media/frame_rate.hpp"

#include <algorithm>

#include "base/clock.hpp"
#include "base/saturating.hpp"

namespace framewire {

std::int64_t frame_time_ns(Rational rate, std::uint64_t index) noexcept {
  // Whole seconds first, so that nothing overflows within the life of a stream. A rate from a file may be nonsense.
  const std::uint64_t ticks = index * rate.denominator;
  const std::uint64_t seconds = std::min<std::uint64_t>(ticks / rate.numerator, INT64_MAX);
  const std::uint64_t rest = ticks % rate.numerator;
  return saturating_add(saturating_multiply(static_cast<std::int64_t>(seconds), ns_per_s),
                        static_cast<std::int64_t>(rest * std::uint64_t{ns_per_s} / rate.numerator));
}

}  // namespace framewire
