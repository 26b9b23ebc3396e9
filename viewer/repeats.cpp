#include "viewer/repeats.hpp"

#include <algorithm>
#include <utility>

#include "base/clock.hpp"

namespace framewire {

std::uint32_t Repeats::copies(std::uint64_t session, std::uint64_t sequence, Rational rate) noexcept {
  const bool goes_on = std::exchange(has_begun_, true) && session == session_ && sequence >= next_sequence_;
  const std::uint64_t skipped = goes_on ? sequence - next_sequence_ : 0;
  session_ = session;
  next_sequence_ = sequence + 1;
  if (skipped == 0 || rate.numerator == 0) {
    return 1;
  }
  const std::uint64_t most =
      keeps_up(rate) ? std::max<std::uint64_t>(std::uint64_t{rate.numerator} * max_gap_s / rate.denominator, 1) : 0;
  const std::uint64_t repeated = std::min(skipped, most);
  missing_ += skipped - repeated;
  return static_cast<std::uint32_t>(1 + repeated);
}

void Repeats::written(std::uint32_t frames, std::int64_t duration_ns) noexcept {
  constexpr std::int64_t remembered = 8;
  const std::int64_t each_ns = duration_ns / std::max<std::uint32_t>(frames, 1);
  average_write_ns_ += (each_ns - average_write_ns_) / remembered;
}

bool Repeats::keeps_up(Rational rate) const noexcept {
  return average_write_ns_ < ns_per_s * rate.denominator / rate.numerator;
}

}  // namespace framewire
