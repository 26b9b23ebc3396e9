// The viewer's reports: the live line, the final summary, and the --stats file.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "transport/session/subscriber.hpp"
#include "viewer/playout_schedule.hpp"
#include "viewer/statistics.hpp"

namespace framewire {

/// A stream at one moment. A value, except for `statistics`.
struct StreamReport {
  const Statistics& statistics;
  std::string peer_text{};  // "box:5290/orbit"
  SubscriberCounts session_counts{};
  SubscriberStatus status{};
  Subscriber::ClockOffset clock_offset{};
  std::optional<Pacing> pacing{};  // of --paced
};

/// Of frames that are merged by depth: how many sets were shown, and how many never became complete.
struct SetCounts {
  std::uint64_t shown = 0;
  std::uint64_t missed = 0;
};

/// Inputs of the reports at one moment.
struct ViewerReport {
  std::vector<StreamReport> streams{};
  std::int64_t refresh_period_ns = 0;      // of the screen; 0: not known
  std::string surface{};                   // "headless 960x540"
  std::string_view quality{};              // "fast"
  std::string renderer{};                  // GL_RENDERER
  std::string upload{};                    // "pinned memory"
  std::optional<SetCounts> sets{};         // of Layout::depth
  std::optional<ViewerCounts> pictures{};  // what was recorded of the composed picture; none: it was not recorded
};

/// What the streams have in common on the live line: the sums, and of latencies the longest.
struct LiveReport {
  RecentRates rates{};
  ViewerCounts counts{};
  SubscriberCounts session_counts{};
  std::string silence{};  // "box:5290/orbit: no frame for 3 s"; empty: all bring what they should
  /// Another stream.
  void add(const RecentRates& other_rates, const ViewerCounts& other, const SubscriberCounts& other_session) noexcept;
};

/// "60.0 fps · 1.99 GB/s · latency 4.2 ms (p99 7.9) · shown 252 · superseded 0 · skipped 0"
std::string live_line(const LiveReport& report);

/// Lines for the user, without newlines: three to six for each stream, and for several streams its name before them.
std::vector<std::string> summary(const ViewerReport& report);

/// One JSON object in one line. Keys name their units. Unknown values are null. For one stream it has everything; for
/// several, "streams" has an object for each, and the rest is what they have in common.
std::string stats_json(const ViewerReport& report);
/// The object of the stream with this index, as if there were no others.
std::string stats_json(const ViewerReport& report, std::size_t index);

/// "chosen 5.1 ms after the quickest arrival (jitter p99.9 4.1 ms)"
std::string describe(const Pacing& pacing);

/// Milliseconds with readable precision: 0.04, 4.2, 125.
std::string format_ms(std::int64_t duration_ns);

}  // namespace framewire
