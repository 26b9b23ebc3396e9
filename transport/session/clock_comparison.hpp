// By how much the clocks of two machines differ.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>

#include "base/clock.hpp"
#include "transport/session/messages.hpp"

namespace framewire {

/// What one exchange of messages has told. A value.
struct ClockEstimate {
  std::int64_t offset_ns = 0;       // the sender's CLOCK_MONOTONIC minus ours
  std::int64_t uncertainty_ns = 0;  // the maximum error when they were compared
  std::int64_t compared_ns = 0;     // when, by our clock; 0: they are one clock

  /// 50 ppm. RFC 5905 (NTP) takes 15 ppm for the frequency error of a machine's clock (PHI); two may err to opposite
  /// sides, and NTP may speed one up a little.
  static constexpr std::int64_t ns_per_ns_of_drift = 20'000;

  /// Of an exchange: half of the round trip is the maximum error (Cristian 1989).
  static ClockEstimate of(std::int64_t asked_ns, std::int64_t sender_ns, std::int64_t answered_ns) noexcept {
    const std::int64_t half_ns = (answered_ns - asked_ns) / 2;
    return {.offset_ns = sender_ns - (asked_ns + half_ns), .uncertainty_ns = half_ns, .compared_ns = answered_ns};
  }

  /// The maximum error at `now_ns`: the clocks drift apart.
  [[nodiscard]] std::int64_t uncertainty_at(std::int64_t now_ns) const noexcept {
    return compared_ns == 0 ? uncertainty_ns
                            : uncertainty_ns + std::max<std::int64_t>(now_ns - compared_ns, 0) / ns_per_ns_of_drift;
  }
};

/// Asks the sender for its time, again and again, and keeps what is most certain: in each comparison some questions,
/// one after the other's answer. Logic only. One thread.
class ClockComparison {
 public:
  static constexpr int questions = 8;
  static constexpr std::int64_t period_ns = 10 * ns_per_s;

  [[nodiscard]] const ClockEstimate& estimate() const noexcept { return estimate_; }
  /// Whether it is time for another comparison, also if the last one was not answered.
  [[nodiscard]] bool is_due(std::int64_t now_ns) const noexcept { return now_ns >= due_ns_; }
  /// The first question of a comparison, to be sent at once.
  ClockMessage begin(std::int64_t now_ns) noexcept {
    due_ns_ = now_ns + period_ns;
    left_ = questions;
    return ask(now_ns);
  }
  /// Returns the next question, to be sent at once; nothing if there is none.
  std::optional<ClockMessage> take(const ClockMessage& answer, std::int64_t now_ns) noexcept {
    if (answer.viewer_ns != asked_ns_) {  // of an earlier comparison, or nobody has asked
      return std::nullopt;
    }
    const auto made = ClockEstimate::of(*std::exchange(asked_ns_, std::nullopt), answer.sender_ns, now_ns);
    if (estimate_.compared_ns == 0 || made.uncertainty_ns < estimate_.uncertainty_at(now_ns)) {
      estimate_ = made;
    }
    return --left_ > 0 ? std::optional(ask(now_ns)) : std::nullopt;
  }

 private:
  ClockMessage ask(std::int64_t now_ns) noexcept {
    asked_ns_ = now_ns;
    return {.viewer_ns = now_ns};
  }

  ClockEstimate estimate_;
  std::optional<std::int64_t> asked_ns_;  // the question that is not answered
  int left_ = 0;                          // answers to come in this comparison
  std::int64_t due_ns_ = 0;
};

}  // namespace framewire
