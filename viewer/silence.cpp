#include "viewer/silence.hpp"

#include <algorithm>

#include "base/clock.hpp"

namespace framewire {

std::optional<Silence> silence_of(const SubscriberStatus& status, std::int64_t heard_ns,
                                  std::int64_t pull_interval_ns) noexcept {
  constexpr std::int64_t shortest_ns = 3 * ns_per_s;
  constexpr std::int64_t slowest_period_ns = 3600 * ns_per_s;
  constexpr std::int64_t periods = 3;
  if (status.state != SubscriberState::connected || status.format_session != status.session_number || !status.format ||
      status.format->frame_rate.numerator == 0) {
    return std::nullopt;
  }
  const Rational rate = status.format->frame_rate;
  const double period_ns = 1e9 * rate.denominator / rate.numerator;
  const std::int64_t expected_ns =
      std::max(static_cast<std::int64_t>(std::min(period_ns, double{slowest_period_ns})), pull_interval_ns);
  return Silence{.since_ns = heard_ns, .said_from_ns = heard_ns + std::max(shortest_ns, periods * expected_ns)};
}

std::string describe(const Silence& silence, std::int64_t now_ns) {
  return now_ns < silence.said_from_ns
             ? ""
             : "no frame for " + std::to_string((now_ns - silence.since_ns) / ns_per_s) + " s";
}

}  // namespace framewire
