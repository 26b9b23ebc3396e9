// The distribution of durations, in a fixed amount of memory.
#pragma once

#include <array>
#include <cstdint>

namespace framewire {

/// Counts durations in bins whose width grows with the value: below 64 ns exact, above within 1/128 (the log-linear
/// bins of HdrHistogram). 30 kB, never allocates. Belongs to one thread.
class Histogram {
 public:
  /// Negative durations (two clocks that disagree) count as 0.
  void add(std::int64_t duration_ns) noexcept;
  void clear() noexcept;

  [[nodiscard]] std::uint64_t count() const noexcept { return count_; }
  /// Exact; 0 when empty.
  [[nodiscard]] std::int64_t max_ns() const noexcept { return max_ns_; }
  /// The smallest duration such that `share` (0 … 1) of all are at most that long (nearest rank); 0 when empty.
  [[nodiscard]] std::int64_t percentile_ns(double share) const noexcept;

 private:
  static constexpr unsigned bin_bits = 6;  // 64 bins per power of two
  static constexpr std::size_t bin_count = std::size_t{64 - bin_bits} << bin_bits;
  static std::size_t bin_of(std::uint64_t duration_ns) noexcept;
  static std::int64_t middle_of(std::size_t bin) noexcept;

  std::array<std::uint64_t, bin_count> bins_{};
  std::uint64_t count_ = 0;
  std::int64_t max_ns_ = 0;
};

}  // namespace framewire
