// Recent rates, for display while the viewer runs.
#pragma once

#include <cstdint>

#include "base/histogram.hpp"

namespace framewire {

/// Rates between two calls of take_rates().
struct RecentRates {
  double frames_per_s = 0;  // shown
  double gigabytes_per_s = 0;
  std::int64_t latency_p50_ns = 0;
  std::int64_t latency_p99_ns = 0;
  bool has_latency = false;
};

/// Counts since the last take_rates(). Used by one thread; never allocates.
class RecentMeter {
 public:
  void frame_received(std::uint64_t payload_bytes) noexcept { bytes_ += payload_bytes; }
  void frame_shown() noexcept { ++frames_; }
  void latency(std::int64_t latency_ns) noexcept { latency_.add(latency_ns); }

  /// Returns the rates since the last call, and resets. The first call returns 0.
  RecentRates take_rates(std::int64_t now_ns) noexcept;

 private:
  Histogram latency_;
  std::int64_t since_ns_ = 0;
  std::uint64_t frames_ = 0;
  std::uint64_t bytes_ = 0;
};

}  // namespace framewire
