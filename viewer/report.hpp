// The viewer's reports: the live line, the final summary, and the --stats file.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "transport/session/subscriber.hpp"
#include "viewer/playout_schedule.hpp"
#include "viewer/statistics.hpp"

namespace framewire {

/// Inputs of the reports at one moment. A value, except for `statistics`.
struct ViewerReport {
  const Statistics& statistics;
  SubscriberCounts session_counts{};
  SubscriberStatus status{};
  Subscriber::ClockOffset clock_offset{};
  std::optional<Pacing> pacing{};      // of --paced
  std::int64_t refresh_period_ns = 0;  // of the screen; 0: not known
  std::string surface{};               // "headless 960x540"
  std::string_view quality{};          // "fast"
  std::string renderer{};              // GL_RENDERER
  std::string upload{};                // "pinned memory"
};

/// "60.0 fps · 1.99 GB/s · latency 4.2 ms (p99 7.9) · shown 252 · superseded 0 · skipped 0"
std::string live_line(const RecentRates& rates, const ViewerCounts& counts, const SubscriberCounts& session_counts);

/// Three to five lines for the user, without newlines.
std::vector<std::string> summary(const ViewerReport& report);

/// One JSON object in one line. Keys name their units. Unknown values are null.
std::string stats_json(const ViewerReport& report);

/// "chosen 5.1 ms after the quickest arrival (jitter p99.9 4.1 ms)"
std::string describe(const Pacing& pacing);

/// Milliseconds with readable precision: 0.04, 4.2, 125.
std::string format_ms(std::int64_t duration_ns);

}  // namespace framewire
