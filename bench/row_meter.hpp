// What the receiving end of a link's row sees.
#pragma once

#include <cstdint>
#include <optional>

#include "base/adaptive_spin.hpp"
#include "base/clock.hpp"
#include "base/histogram.hpp"
#include "bench/row.hpp"
#include "bench/row_span.hpp"
#include "transport/subscriber.hpp"

namespace framewire {

/// Used by the thread that takes the frames.
class RowMeter {
 public:
  explicit RowMeter(Subscriber& subscriber) : subscriber_(subscriber) {}

  /// Throws Error (failed) for a sender's result that is none.
  void take(const ReceivedFrame& frame);

  [[nodiscard]] double gigabytes() const noexcept { return static_cast<double>(bytes_) / 1e9; }
  /// How the sender wants this end to wait.
  [[nodiscard]] WaitMode wait() const noexcept { return wait_; }
  [[nodiscard]] EndResult result() const;
  /// What the sender says of itself, where it was asked to send: in a frame of its own, which counts for nothing.
  [[nodiscard]] const std::optional<EndResult>& sender_result() const noexcept { return sender_result_; }

 private:
  Subscriber& subscriber_;
  Histogram latency_;
  RowSpan span_;
  Subscriber::ClockOffset clock_;
  std::int64_t cpu_at_begin_ns_ = process_cpu_ns();
  std::uint64_t bytes_ = 0;
  std::uint64_t sum_ = 0;
  WaitMode wait_ = WaitMode::adaptive;
  std::optional<EndResult> sender_result_;
};

}  // namespace framewire
