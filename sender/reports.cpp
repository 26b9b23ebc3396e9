#include "sender/reports.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

namespace framewire {

namespace {

std::string counted_viewers(std::uint32_t viewers) {
  return fmt::format("{} viewer{}", viewers, viewers == 1 ? "" : "s");
}

/// Short, because several of them share one line of the terminal.
std::string live_part(const StreamProgress& stream) {
  if (stream.has_ended) {
    return stream.name + ": ended";
  }
  return stream.viewers == 0
             ? stream.name + ": no viewer"
             : fmt::format("{}: {:.1f} fps, {}", stream.name, stream.fps, counted_viewers(stream.viewers));
}

std::string describe(const SessionReport& report) {
  // A viewer that leaves confirms what it has received. The rest was on its way to it, and no link has lost it.
  std::string counts =
      fmt::format("{}{} sent, {} skipped, {} {}",
                  report.counts.first_frame > 1 ? fmt::format("joined at frame {}; ", report.counts.first_frame) : "",
                  report.counts.frames_sent, report.counts.frames_skipped, report.frames_lost,
                  report.bye_received && report.frames_lost > 0 ? "unconfirmed" : "lost");
  if (report.counts.frames_aborted > 0) {
    counts += fmt::format(", {} aborted", report.counts.frames_aborted);
  }
  if (report.pulls) {
    counts =
        report.bye_received ? fmt::format("{} pulled", report.frames_pulled) : "pulled an unknown number of frames";
  } else if (report.frames_pulled > 0) {  // sum of several sessions
    counts += fmt::format(", {} pulled", report.frames_pulled);
  }
  return fmt::format("viewer {} ({}): {}; {}", report.viewer, report.transport, counts, report.ending);
}

std::string describe(const StreamResult& result) {
  const Stream& stream = *result.stream;
  std::string line = fmt::format("stream {}: {} frames in {:.1f} s", stream.options().name, stream.frames_produced(),
                                 static_cast<double>(stream.produced_over_ns()) / 1e9);
  if (stream.frames_dropped_at_source() != 0) {
    line += fmt::format(", {} dropped at the source", stream.frames_dropped_at_source());
  }
  if (result.source_losses != 0) {
    line += fmt::format(", its input was lost {} time{}", result.source_losses, result.source_losses == 1 ? "" : "s");
  }
  return line;
}

}  // namespace

std::string live_line(std::span<const StreamProgress> streams) {
  std::uint32_t viewers = 0;
  for (const StreamProgress& stream : streams) {
    viewers += stream.viewers;
  }
  if (viewers == 0) {
    return "waiting for a viewer";
  }
  if (streams.size() == 1) {
    const StreamProgress& only = streams.front();
    return fmt::format("{}   {:.1f} fps   {} frames", counted_viewers(viewers), only.fps, only.frames);
  }
  std::string line;
  for (const StreamProgress& stream : streams) {
    line += (line.empty() ? "" : "   ") + live_part(stream);
  }
  return line;
}

std::vector<std::string> summary_lines(std::span<const StreamResult> streams, std::span<const SessionReport> reports) {
  std::vector<std::string> lines;
  for (const StreamResult& result : streams) {
    // With one stream the program's error, which comes next, says it.
    lines.push_back(describe(result) + (streams.size() > 1 && !result.failure.empty() ? ", failed" : ""));
    for (const SessionReport& report : reports_of(*result.stream, reports)) {
      lines.push_back(describe(report));
    }
  }
  return lines;
}

std::string failure_summary(std::span<const StreamResult> streams) {
  std::size_t count = 0;
  std::string names;
  for (const StreamResult& result : streams) {
    if (!result.failure.empty()) {
      ++count;
      names += (names.empty() ? "" : ", ") + result.stream->options().name;
    }
  }
  return count == 0 ? std::string() : fmt::format("{} of {} streams failed: {}", count, streams.size(), names);
}

std::vector<SessionReport> reports_of(const Stream& stream, std::span<const SessionReport> reports) {
  std::vector<SessionReport> found;
  std::ranges::copy_if(reports, std::back_inserter(found),
                       [&stream](const SessionReport& report) { return report.stream == stream.options().name; });
  return found;
}

}  // namespace framewire
