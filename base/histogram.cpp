#include "base/histogram.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

namespace framewire {

std::size_t Histogram::bin_of(std::uint64_t duration_ns) noexcept {
  const unsigned width = static_cast<unsigned>(std::bit_width(duration_ns));
  if (width <= bin_bits) {
    return duration_ns;
  }
  const unsigned shift = width - 1 - bin_bits;
  const std::size_t group = shift + 1;
  return (group << bin_bits) + ((duration_ns >> shift) & ((1U << bin_bits) - 1));
}

std::int64_t Histogram::middle_of(std::size_t bin) noexcept {
  const std::size_t group = bin >> bin_bits;
  if (group == 0) {
    return static_cast<std::int64_t>(bin);
  }
  const std::uint64_t lowest = ((std::uint64_t{1} << bin_bits) + (bin & ((1U << bin_bits) - 1))) << (group - 1);
  return static_cast<std::int64_t>(lowest + (std::uint64_t{1} << (group - 1)) / 2);
}

void Histogram::add(std::int64_t duration_ns) noexcept {
  const std::int64_t value = std::max<std::int64_t>(duration_ns, 0);
  ++bins_[bin_of(static_cast<std::uint64_t>(value))];
  ++count_;
  max_ns_ = std::max(max_ns_, value);
}

void Histogram::clear() noexcept {
  bins_.fill(0);
  count_ = 0;
  max_ns_ = 0;
}

std::int64_t Histogram::percentile_ns(double share) const noexcept {
  if (count_ == 0) {
    return 0;
  }
  const double wanted = std::ceil(std::clamp(share, 0.0, 1.0) * static_cast<double>(count_));
  const std::uint64_t rank = std::max<std::uint64_t>(1, static_cast<std::uint64_t>(wanted));
  std::uint64_t seen = 0;
  for (std::size_t bin = 0; bin < bin_count; ++bin) {
    seen += bins_[bin];
    if (seen >= rank) {
      return std::min(middle_of(bin), max_ns_);
    }
  }
  return max_ns_;
}

}  // namespace framewire
