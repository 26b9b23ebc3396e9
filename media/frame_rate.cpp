#include "media/frame_rate.hpp"

#include <algorithm>
#include <cmath>

#include "base/clock.hpp"

namespace framewire {

Rational rational_rate(double frames_per_s) noexcept {
  constexpr double most_per_s = 1e6;
  if (!(frames_per_s > 0)) {
    return {0, 1};
  }
  const double rate = std::min(frames_per_s, most_per_s);
  const double whole = std::round(rate);
  constexpr double as_good_as_equal = 1e-6;
  if (std::abs(rate - whole) < as_good_as_equal && whole >= 1) {
    return {static_cast<std::uint32_t>(whole), 1};
  }
  // The rates of NTSC's heirs are n * 1000 / 1001, and people write them with two or three places.
  const double ntsc = std::round(rate * 1.001);
  constexpr double as_people_round = 0.006;
  if (ntsc >= 23 && std::abs(ntsc / 1.001 - rate) < as_people_round) {
    return {static_cast<std::uint32_t>(ntsc) * 1000, 1001};
  }
  return {static_cast<std::uint32_t>(std::max(1.0, std::round(rate * 1000))), 1000};
}

std::int64_t frame_time_ns(Rational rate, std::uint64_t index) noexcept {
  // Whole seconds first, so that nothing overflows within the life of a stream.
  const std::uint64_t ticks = index * rate.denominator;
  const std::uint64_t seconds = ticks / rate.numerator;
  const std::uint64_t rest = ticks % rate.numerator;
  return static_cast<std::int64_t>(seconds) * ns_per_s +
         static_cast<std::int64_t>(rest * std::uint64_t{ns_per_s} / rate.numerator);
}

}  // namespace framewire
