#include "transport/rdma/stall_detector.hpp"

#include <algorithm>

#include "base/clock.hpp"

namespace framewire {

namespace {

/// Longer than the device may take, so that the device's own error, which says more, comes first.
constexpr std::int64_t timeouts = 3;
constexpr std::int64_t min_timeout_ns = 5 * ns_per_s;

/// The slowest wire that counts as progress: 1 MB/s, a tenth of Soft-RoCE between two emulated machines.
constexpr std::int64_t ns_per_byte = 1000;

}  // namespace

StallDetector::StallDetector(std::int64_t peer_timeout_ns) noexcept
    : timeout_ns_(std::max(timeouts * peer_timeout_ns, min_timeout_ns)) {}

bool StallDetector::is_stalled(std::int64_t now_ns, std::uint64_t completed, bool awaits,
                               std::uint64_t awaited_bytes) noexcept {
  if (completed != completed_ || !awaits || progress_ns_ == 0) {
    completed_ = completed;
    progress_ns_ = now_ns;
  }
  return now_ns - progress_ns_ > timeout_ns_ + static_cast<std::int64_t>(awaited_bytes) * ns_per_byte;
}

}  // namespace framewire
