// What the receiving end of a link's row sees.
#pragma once

#include <cstdint>
#include <optional>

#include "base/adaptive_spin.hpp"
#include "base/clock.hpp"
#include "base/histogram.hpp"
#include "bench/row.hpp"
#include "bench/row_span.hpp"
#include "transport/session/subscriber.hpp"

namespace framewire {

/// Used by the thread that takes the frames.
class RowMeter {
 public:
  explicit RowMeter(Subscriber& subscriber) : subscriber_(subscriber) {}

  /// Takes messages until the session is over: how it ended. `go_on` is asked before each look; nothing comes when it
  /// says no, and what it throws passes through. Throws Error (failed) for a sender's result that is none.
  template <typename GoOn>
  std::optional<SubscriberStatus> take_all(const GoOn& go_on);

  [[nodiscard]] double gigabytes() const noexcept { return static_cast<double>(bytes_) / 1e9; }
  [[nodiscard]] EndResult result() const;
  /// What the sender says of itself, where it was asked to send: in a frame of its own, which counts for nothing.
  [[nodiscard]] const std::optional<EndResult>& sender_result() const noexcept { return sender_result_; }

 private:
  void take(const ReceivedFrame& frame);
  std::optional<SubscriberStatus> wait_for_more(std::uint64_t& seen_version);

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

template <typename GoOn>
std::optional<SubscriberStatus> RowMeter::take_all(const GoOn& go_on) {
  for (std::uint64_t seen_version = ~std::uint64_t{0}; go_on();) {
    if (const auto frame = subscriber_.next()) {
      take(*frame);
    } else if (auto end = wait_for_more(seen_version)) {
      return end;
    }
  }
  return std::nullopt;
}

}  // namespace framewire
