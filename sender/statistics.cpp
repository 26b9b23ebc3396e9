#include "sender/statistics.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "command/json_text.hpp"

namespace framewire {

namespace {

using Json = nlohmann::ordered_json;

Json session_json(const SessionReport& report) {
  Json json{{"viewer", report.viewer},
            {"stream", report.stream},
            {"transport", report.transport},
            {"memory", report.memory},
            {"memory_access", text_or_null(report.memory_access.way)},
            {"memory_access_reason", text_or_null(report.memory_access.passed_over)},
            {"mode", report.pulls ? "pull" : "push"},
            {"frames_produced", report.counts.frames_produced},
            {"frames_skipped", report.counts.frames_skipped},
            {"frames_sent", report.counts.frames_sent},
            {"frames_aborted", report.counts.frames_aborted},
            {"frames_unfilled", report.counts.frames_unfilled},
            {"frames_received", report.frames_received},
            {"frames_lost", report.frames_lost},
            {"bytes_sent", report.counts.bytes_sent},
            {"first_frame", report.counts.first_frame == 0 ? Json(nullptr) : Json(report.counts.first_frame)},
            {"frames_pulled", report.pulls && !report.bye_received ? Json(nullptr) : Json(report.frames_pulled)},
            {"said_bye", report.bye_received},
            {"ending", report.ending}};
  json["viewer_statistics"] =
      report.viewer_statistics.empty() ? Json(nullptr) : Json::parse(report.viewer_statistics, nullptr, false);
  return json;
}

/// The counts over these streams and their sessions.
Json totals_json(std::span<const StreamResult> streams, std::span<const SessionReport> reports) {
  std::uint64_t produced = 0;
  std::uint64_t dropped = 0;
  std::uint64_t losses = 0;
  double seconds = 0;
  double frames_per_s = 0;
  SourceInbox::Counts inbox;
  for (const StreamResult& result : streams) {
    const Stream& stream = *result.stream;
    produced += stream.frames_produced();
    dropped += stream.frames_dropped_at_source();
    losses += result.source_losses;
    inbox += stream.inbox().counts();
    const double stream_s = static_cast<double>(stream.produced_over_ns()) / 1e9;
    seconds = std::max(seconds, stream_s);
    frames_per_s += stream_s > 0 ? static_cast<double>(stream.frames_produced() - 1) / stream_s : 0;
  }
  SubscriberQueueCounts sum;
  std::uint64_t received = 0;
  std::uint64_t lost = 0;
  std::uint64_t pulled = 0;
  for (const SessionReport& report : reports) {
    sum += report.counts;
    received += report.frames_received;
    lost += report.frames_lost;
    pulled += report.frames_pulled;
  }
  return {{"frames_produced", produced},
          {"frames_dropped_at_source", dropped},
          {"source_losses", losses},
          {"input_events_received", inbox.events_received},
          {"input_events_dropped", inbox.events_dropped},
          {"messages_received", inbox.messages_received},
          {"messages_sent", inbox.messages_sent},
          {"messages_dropped", inbox.messages_dropped},
          {"frames_skipped", sum.frames_skipped},
          {"frames_sent", sum.frames_sent},
          {"frames_aborted", sum.frames_aborted},
          {"frames_unfilled", sum.frames_unfilled},
          {"frames_received", received},
          {"frames_lost", lost},
          {"frames_pulled", pulled},
          {"frames_torn", nullptr},  // only the viewer knows
          {"seconds", seconds},
          {"fps", frames_per_s},
          {"gigabytes_per_second", seconds > 0 ? static_cast<double>(sum.bytes_sent) / seconds / 1e9 : 0},
          {"decoder", streams.empty() ? Json(nullptr) : text_or_null(streams.front().decoder)},
          {"transport", reports.empty() ? Json(nullptr) : Json(reports.front().transport)},
          {"memory", reports.empty() ? Json(nullptr) : Json(reports.front().memory)}};
}

Json stream_json(const StreamResult& result, std::span<const SessionReport> reports) {
  Json json{{"name", result.stream->options().name}, {"error", text_or_null(result.failure)}};
  json.update(totals_json({&result, 1}, reports_of(*result.stream, reports)));
  return json;
}

}  // namespace

std::string sender_statistics_json(std::span<const StreamResult> streams, std::span<const SessionReport> reports) {
  Json json = totals_json(streams, reports);
  if (streams.size() > 1) {
    for (const StreamResult& result : streams) {
      json["streams"].push_back(stream_json(result, reports));
    }
  }
  json["sessions"] = Json::array();
  for (const SessionReport& report : reports) {
    json["sessions"].push_back(session_json(report));
  }
  return to_line(json);
}

}  // namespace framewire
