// What the viewer says of itself: the live line, the summary at the end, and the file of --stats.
#pragma once

#include <string>
#include <vector>

#include "transport/session/subscriber.hpp"
#include "viewer/statistics.hpp"

namespace framewire {

/// Everything there is to say, at one moment. A value, but for `statistics`.
struct ViewerReport {
  const Statistics& statistics;
  SubscriberCounts session_counts;
  SubscriberStatus status;
  Subscriber::ClockOffset clock_offset;
  std::string surface;   // "headless 960x540"
  std::string renderer;  // GL_RENDERER
  std::string upload;    // "pinned memory"
};

/// "60.0 fps · 1.99 GB/s · latency 4.2 ms (p99 7.9) · shown 252 · superseded 0 · skipped 0"
std::string live_line(const RecentRates& rates, const ViewerCounts& counts, const SubscriberCounts& session_counts);

/// Three or four lines for a person, without line ends.
std::vector<std::string> summary(const ViewerReport& report);

/// One JSON object in one line; every key that has a unit is named with it. What is not known is null.
std::string stats_json(const ViewerReport& report);

/// Milliseconds for a person: 0.04, 4.2, 125.
std::string format_ms(std::int64_t duration_ns);

}  // namespace framewire
