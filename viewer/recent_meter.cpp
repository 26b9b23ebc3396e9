#include "viewer/recent_meter.hpp"

namespace framewire {

RecentRates RecentMeter::take_rates(std::int64_t now_ns) noexcept {
  RecentRates rates;
  const double elapsed_s = static_cast<double>(now_ns - since_ns_) / 1e9;
  if (since_ns_ != 0 && elapsed_s > 0) {
    rates.frames_per_s = static_cast<double>(frames_) / elapsed_s;
    rates.gigabytes_per_s = static_cast<double>(bytes_) / elapsed_s / 1e9;
  }
  rates.has_latency = latency_.count() > 0;
  rates.latency_p50_ns = latency_.percentile_ns(0.50);
  rates.latency_p99_ns = latency_.percentile_ns(0.99);
  latency_.clear();
  frames_ = 0;
  bytes_ = 0;
  since_ns_ = now_ns;
  return rates;
}

}  // namespace framewire
