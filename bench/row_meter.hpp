// What the receiving end of a link's row sees.
#pragma once

#include <cstdint>
#include <optional>

#include "base/adaptive_spin.hpp"
#include "base/clock.hpp"
#include "base/histogram.hpp"
#include "bench/row.hpp"
#include "transport/session/subscriber.hpp"

namespace framewire {

// The time that a link's row took, as its receiver sees it.

/// From when the sender started on the first message to when the last one arrived, so that n messages are divided by
/// the time of n. Used by the thread that takes the messages.
class RowSpan {
 public:
  /// A message: when its sender began it, by the sender's clock, when it arrived, by ours, and by how much the sender's
  /// clock is ahead of ours.
  void take(std::int64_t begun_ns, std::int64_t arrived_ns, std::int64_t ahead_ns) noexcept {
    if (count_++ == 0) {
      begun_ns_ = begun_ns;
    }
    arrived_ns_ = arrived_ns + ahead_ns;
  }

  [[nodiscard]] std::uint64_t count() const noexcept { return count_; }

  /// 0, not known: nothing came, the sender does not say when it began, or the clocks may differ by as much as it took.
  [[nodiscard]] double seconds(std::int64_t uncertainty_ns) const noexcept {
    const std::int64_t took_ns = arrived_ns_ - begun_ns_;
    return begun_ns_ == 0 || took_ns <= uncertainty_ns ? 0 : static_cast<double>(took_ns) / 1e9;
  }

 private:
  std::uint64_t count_ = 0;
  std::int64_t begun_ns_ = 0;
  std::int64_t arrived_ns_ = 0;
};

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
