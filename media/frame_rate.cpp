#include "media/frame_rate.hpp"

#include "base/clock.hpp"

namespace framewire {

std::int64_t frame_time_ns(Rational rate, std::uint64_t index) noexcept {
  // Whole seconds first, so that nothing overflows within the life of a stream.
  const std::uint64_t ticks = index * rate.denominator;
  const std::uint64_t seconds = ticks / rate.numerator;
  const std::uint64_t rest = ticks % rate.numerator;
  return static_cast<std::int64_t>(seconds) * ns_per_s +
         static_cast<std::int64_t>(rest * std::uint64_t{ns_per_s} / rate.numerator);
}

}  // namespace framewire
