#include "viewer/report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/bandwidth.hpp"
#include "command/json_text.hpp"

namespace framewire {

namespace {

std::string counts_line(const StreamReport& report) {
  const ViewerCounts counts = report.statistics.counts();
  const SubscriberCounts& session = report.session_counts;
  std::string line =
      fmt::format("frames   {} received, {} shown, {} superseded, {} skipped, {} lost", counts.frames_received,
                  counts.frames_shown, counts.frames_superseded, session.frames_skipped, session.frames_lost);
  if (session.frames_discarded > 0) {
    line += fmt::format(", {} discarded", session.frames_discarded);
  }
  if (counts.frames_unsynchronised > 0) {
    line += fmt::format(", {} out of step", counts.frames_unsynchronised);
  }
  if (counts.frames_checked > 0) {
    line += fmt::format(", {} torn", counts.frames_torn);
  }
  if (counts.frames_recorded > 0) {
    line += fmt::format(", {} recorded", counts.frames_recorded);
    if (counts.frames_repeated > 0) {
      line += fmt::format(" and {} repeated for those skipped", counts.frames_repeated);
    }
  }
  if (counts.frames_unrecorded > 0) {
    line += fmt::format(", {} not recorded", counts.frames_unrecorded);
  }
  if (counts.frames_shown > 0) {
    line += fmt::format("; {:.1f} s, {:.2f} fps, {}", report.statistics.seconds(), report.statistics.frames_per_s(),
                        format_bandwidth(report.statistics.gigabytes_per_s() * 1e9));
  }
  return line;
}

std::string latency_line(const StreamReport& report) {
  const Histogram& latency = report.statistics.latency();
  std::string line = fmt::format("latency  p50 {} ms, p99 {} ms, max {} ms, from frame complete to shown",
                                 format_ms(latency.percentile_ns(0.5)), format_ms(latency.percentile_ns(0.99)),
                                 format_ms(latency.max_ns()));
  if (report.clock_offset.uncertainty_ns > 0) {
    line += fmt::format(" (the machines' clocks agree within {} ms)", format_ms(report.clock_offset.uncertainty_ns));
  }
  return line;
}

std::string stages_line(const Statistics& statistics) {
  std::string line;
  for (std::size_t i = 0; i < latency_stage_count; ++i) {
    const LatencyStage stage = static_cast<LatencyStage>(i);
    const Histogram& spread = statistics.stage(stage);
    if (spread.count() > 0) {
      line +=
          fmt::format("{}{} {}", line.empty() ? "stages   " : ", ", name(stage), format_ms(spread.percentile_ns(0.5)));
    }
  }
  return line + fmt::format(" ms (p50); first frame {} ms after connecting",
                            format_ms(statistics.connect_to_first_frame_ns()));
}

std::string path_line(const ViewerReport& report, const StreamReport& stream) {
  std::string line = stream.status.transport.empty()
                         ? "path     " + stream.status.start_line + ", "
                         : fmt::format("path     {} link, {} memory, ", stream.status.transport, stream.status.memory);
  if (stream.status.format) {
    line += describe(*stream.status.format) + ", ";
  }
  return line + fmt::format("{}, {} quality, {} by {}", report.surface, report.quality, report.renderer, report.upload);
}

std::string pacing_line(const ViewerReport& report, const StreamReport& stream) {
  std::string line = "pacing   " + describe(*stream.pacing);
  if (report.refresh_period_ns > 0) {
    line += fmt::format("; screen {:.2f} Hz", 1e9 / static_cast<double>(report.refresh_period_ns));
  }
  return line;
}

void add_summary(const ViewerReport& report, const StreamReport& stream, std::vector<std::string>& lines) {
  lines.push_back(counts_line(stream));
  if (stream.statistics.latency().count() > 0) {
    lines.push_back(latency_line(stream));
  }
  if (stream.statistics.counts().frames_shown > 0) {
    lines.push_back(stages_line(stream.statistics));
    if (stream.pacing) {
      lines.push_back(pacing_line(report, stream));
    }
    lines.push_back(path_line(report, stream));
  }
  const ViewerCounts counts = stream.statistics.counts();
  if (counts.input_events_sent > 0 || counts.input_events_lost > 0) {
    lines.push_back(
        fmt::format("input    {} events sent, {} lost", counts.input_events_sent, counts.input_events_lost));
  }
}

// ---- The --stats file ----

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

std::string format_ms(std::int64_t duration_ns) {
  const double ms = static_cast<double>(duration_ns) / 1e6;
  const int decimals = ms < 1 ? 2 : ms < 100 ? 1 : 0;
  return fmt::format("{:.{}f}", ms, decimals);
}

std::string describe(const Pacing& pacing) {
  return fmt::format("chosen {} ms after the quickest arrival (jitter p99.9 {} ms)", format_ms(pacing.delay_ns),
                     format_ms(pacing.jitter_ns));
}

std::string live_line(const LiveReport& report) {
  const RecentRates& rates = report.rates;
  const ViewerCounts& counts = report.counts;
  const SubscriberCounts& session_counts = report.session_counts;
  std::string line = fmt::format("{:.1f} fps · {}", rates.frames_per_s, format_bandwidth(rates.gigabytes_per_s * 1e9));
  if (rates.has_latency) {
    line += fmt::format(" · latency {} ms (p99 {})", format_ms(rates.latency_p50_ns), format_ms(rates.latency_p99_ns));
  }
  line += fmt::format(" · shown {} · superseded {} · skipped {}", counts.frames_shown, counts.frames_superseded,
                      session_counts.frames_skipped);
  if (session_counts.frames_lost > 0) {
    line += fmt::format(" · lost {}", session_counts.frames_lost);
  }
  if (session_counts.frames_discarded > 0) {
    line += fmt::format(" · discarded {}", session_counts.frames_discarded);
  }
  if (counts.frames_torn > 0) {
    line += fmt::format(" · TORN {}", counts.frames_torn);
  }
  if (!report.silence.empty()) {
    line += " · " + report.silence;
  }
  return line;
}

void LiveReport::add(const RecentRates& other_rates, const ViewerCounts& other,
                     const SubscriberCounts& other_session) noexcept {
  rates.frames_per_s += other_rates.frames_per_s;
  rates.gigabytes_per_s += other_rates.gigabytes_per_s;
  rates.latency_p50_ns = std::max(rates.latency_p50_ns, other_rates.latency_p50_ns);
  rates.latency_p99_ns = std::max(rates.latency_p99_ns, other_rates.latency_p99_ns);
  rates.has_latency |= other_rates.has_latency;
  counts.frames_received += other.frames_received;
  counts.frames_shown += other.frames_shown;
  counts.frames_superseded += other.frames_superseded;
  counts.frames_torn += other.frames_torn;
  session_counts.frames_skipped += other_session.frames_skipped;
  session_counts.frames_lost += other_session.frames_lost;
  session_counts.frames_discarded += other_session.frames_discarded;
}

std::vector<std::string> summary(const ViewerReport& report) {
  std::vector<std::string> lines;
  for (const StreamReport& stream : report.streams) {
    if (report.streams.size() > 1) {
      lines.push_back(stream.peer_text);
    }
    add_summary(report, stream, lines);
  }
  if (report.sets) {
    lines.push_back(fmt::format("depth    {} sets shown, {} missed", report.sets->shown, report.sets->missed));
  }
  if (report.pictures) {
    lines.push_back(fmt::format("output   {} pictures recorded and {} repeated, {} not recorded",
                                report.pictures->frames_recorded, report.pictures->frames_repeated,
                                report.pictures->frames_unrecorded));
  }
  return lines;
}

namespace {

Json stream_json(const StreamReport& report) {
  const Statistics& statistics = report.statistics;
  const ViewerCounts counts = statistics.counts();
  const SubscriberStatus& status = report.status;
  return {
      {"frames_received", counts.frames_received},
      {"frames_shown", counts.frames_shown},
      {"frames_superseded", counts.frames_superseded},
      {"frames_unsynchronised", counts.frames_unsynchronised},
      {"frames_lost", report.session_counts.frames_lost},
      {"frames_skipped", report.session_counts.frames_skipped},
      {"frames_discarded", report.session_counts.frames_discarded},
      {"frames_torn", counts.frames_checked > 0 ? Json(counts.frames_torn) : Json(nullptr)},
      {"frames_checked", counts.frames_checked},
      {"frames_recorded", counts.frames_recorded},
      {"frames_repeated", counts.frames_repeated},
      {"frames_unrecorded", counts.frames_unrecorded},
      {"bytes_received", counts.bytes_received},
      {"input_events_sent", counts.input_events_sent},
      {"input_events_lost", counts.input_events_lost},
      {"input_latency_ms", spread_ms(statistics.input_latency())},
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
      {"memory", text_or_null(status.memory)},
      {"memory_access", text_or_null(status.memory_access.way)},
      {"memory_access_reason", text_or_null(status.memory_access.passed_over)},
      {"format", status.format ? Json(describe(*status.format)) : Json(nullptr)},
      {"pacing_jitter_ms", report.pacing ? Json(to_ms(report.pacing->jitter_ns)) : Json(nullptr)},
      {"pacing_delay_ms", report.pacing ? Json(to_ms(report.pacing->delay_ns)) : Json(nullptr)},
  };
}

void add_surface(const ViewerReport& report, Json& json) {
  json["surface"] = report.surface;
  json["refresh_hz"] =
      report.refresh_period_ns > 0 ? Json(1e9 / static_cast<double>(report.refresh_period_ns)) : Json(nullptr);
  json["upload"] = report.upload;
  json["renderer"] = report.renderer;
  json["quality"] = report.quality;
  json["sets_shown"] = report.sets ? Json(report.sets->shown) : Json(nullptr);
  json["sets_missed"] = report.sets ? Json(report.sets->missed) : Json(nullptr);
  const std::optional<ViewerCounts>& pictures = report.pictures;
  json["pictures_recorded"] = pictures ? Json(pictures->frames_recorded) : Json(nullptr);
  json["pictures_repeated"] = pictures ? Json(pictures->frames_repeated) : Json(nullptr);
  json["pictures_unrecorded"] = pictures ? Json(pictures->frames_unrecorded) : Json(nullptr);
}

}  // namespace

std::string stats_json(const ViewerReport& report, std::size_t index) {
  Json json = stream_json(report.streams.at(index));
  add_surface(report, json);
  return to_line(json);
}

std::string stats_json(const ViewerReport& report) {
  if (report.streams.size() == 1) {
    return stats_json(report, 0);
  }
  Json json = {{"streams", Json::array()}};
  for (const StreamReport& stream : report.streams) {
    Json object = {{"source", stream.peer_text}};
    object.update(stream_json(stream));
    json["streams"].push_back(std::move(object));
  }
  add_surface(report, json);
  return to_line(json);
}

}  // namespace framewire
