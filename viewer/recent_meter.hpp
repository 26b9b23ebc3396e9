// Rates of the last moment, for what is shown while the viewer runs.
#pragma once

#include <cstdint>

#include "base/histogram.hpp"

namespace framewire {

/// What happened between two looks.
struct RecentRates {
  double frames_per_s = 0;  // shown
  double gigabytes_per_s = 0;
  std::int64_t latency_p50_ns = 0;
  std::int64_t latency_p99_ns = 0;
  bool has_latency = false;
};

/// Counts since the last take_rates(). One thread; never allocates.
class RecentMeter {
 public:
  void frame_received(std::uint64_t payload_bytes) noexcept { bytes_ += payload_bytes; }
  void frame_shown() noexcept { ++frames_; }
  void latency(std::int64_t latency_ns) noexcept { latency_.add(latency_ns); }

  /// The rates since the last call, and starts anew. The first call has nothing to measure from: its rates are 0.
  RecentRates take_rates(std::int64_t now_ns) noexcept;

 private:
  Histogram latency_;
  std::int64_t since_ns_ = 0;
  std::uint64_t frames_ = 0;
  std::uint64_t bytes_ = 0;
};

}  // namespace framewire
