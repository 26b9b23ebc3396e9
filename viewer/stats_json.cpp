#include <nlohmann/json.hpp>

#include "command/json_text.hpp"
#include "viewer/report.hpp"

namespace framewire {

namespace {

using Json = nlohmann::ordered_json;

double to_ms(std::int64_t duration_ns) {
  return static_cast<double>(duration_ns) / 1e6;
}

Json spread_ms(const Histogram& spread) {
  if (spread.count() == 0) {
    return nullptr;
  }
  return {{"p50", to_ms(spread.percentile_ns(0.50))},
          {"p99", to_ms(spread.percentile_ns(0.99))},
          {"max", to_ms(spread.max_ns())}};
}

Json stages_ms(const Statistics& statistics) {
  Json stages = Json::object();
  for (std::size_t i = 0; i < latency_stage_count; ++i) {
    const LatencyStage stage = static_cast<LatencyStage>(i);
    stages[std::string(name(stage))] = spread_ms(statistics.stage(stage));
  }
  return stages;
}

}  // namespace

std::string stats_json(const ViewerReport& report) {
  const Statistics& statistics = report.statistics;
  const ViewerCounts& counts = statistics.counts();
  const SubscriberStatus& status = report.status;
  Json json = {
      {"frames_received", counts.frames_received},
      {"frames_shown", counts.frames_shown},
      {"frames_superseded", counts.frames_superseded},
      {"frames_lost", report.session_counts.frames_lost},
      {"frames_skipped", report.session_counts.frames_skipped},
      {"frames_discarded", report.session_counts.frames_discarded},
      {"frames_torn", counts.frames_checked > 0 ? Json(counts.frames_torn) : Json(nullptr)},
      {"frames_checked", counts.frames_checked},
      {"frames_recorded", counts.frames_recorded},
      {"frames_repeated", counts.frames_repeated},
      {"bytes_received", counts.bytes_received},
      {"sessions", report.session_counts.sessions},
      {"seconds", statistics.seconds()},
      {"fps", statistics.frames_per_s()},
      {"gigabytes_per_second", statistics.gigabytes_per_s()},
      {"latency_ms", spread_ms(statistics.latency())},
      {"stage_latency_ms", stages_ms(statistics)},
      {"connect_to_first_frame_ms",
       counts.frames_shown > 0 ? Json(to_ms(statistics.connect_to_first_frame_ns())) : Json(nullptr)},
      {"clock_uncertainty_ms", to_ms(report.clock_offset.uncertainty_ns)},
      {"transport", text_or_null(status.transport)},
      {"memory", "host"},
      {"format", status.format ? Json(describe(*status.format)) : Json(nullptr)},
      {"surface", report.surface},
      {"upload", report.upload},
      {"renderer", report.renderer},
  };
  return to_line(json);
}

}  // namespace framewire
