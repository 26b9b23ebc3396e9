#include "sender/reports.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "sender/statistics.hpp"

namespace framewire {
namespace {

using Lines = std::vector<std::string>;
using Json = nlohmann::json;

StreamOptions named(const std::string& name) {
  StreamOptions options;
  options.name = name;
  return options;
}

/// Publishes frames that nobody watches.
void produce(Stream& stream, int frames) {
  stream.begin_epoch({.layout = bytes_layout(16), .colour = {}});
  for (int i = 0; i < frames; ++i) {
    stream.publish(*stream.claim({.unwatched = true}), {.layout = {}});
  }
}

/// From the first frame to the last: what other work on this machine delays takes longer.
std::string seconds_of(const Stream& stream) {
  return fmt::format("{:.1f} s", static_cast<double>(stream.produced_over_ns()) / 1e9);
}

SessionReport session(const std::string& stream, std::uint64_t frames) {
  SessionReport report;
  report.viewer = "of " + stream;
  report.stream = stream;
  report.transport = "tcp";
  report.memory = "host";
  report.ending = "the viewer left";
  report.bye_received = true;
  report.counts.frames_produced = frames;
  report.counts.frames_sent = frames;
  report.counts.bytes_sent = 100 * frames;
  report.frames_received = frames;
  return report;
}

StreamProgress progress(const std::string& name, std::uint32_t viewers, bool has_ended = false) {
  return {.name = name, .viewers = viewers, .frames = 120, .fps = 59.94, .has_ended = has_ended};
}

TEST(SenderReports, LiveLineOfOneStreamHasNoName) {
  EXPECT_EQ(live_line(std::vector{progress("film", 0)}), "waiting for a viewer");
  EXPECT_EQ(live_line(std::vector{progress("film", 1)}), "1 viewer   59.9 fps   120 frames");
  EXPECT_EQ(live_line(std::vector{progress("film", 2)}), "2 viewers   59.9 fps   120 frames");
}

TEST(SenderReports, LiveLineOfSeveralStreamsNamesEach) {
  EXPECT_EQ(live_line(std::vector{progress("a", 0), progress("b", 0)}), "waiting for a viewer");
  EXPECT_EQ(live_line(std::vector{progress("a", 0), progress("b", 2), progress("c", 1, true)}),
            "a: no viewer   b: 59.9 fps, 2 viewers   c: ended");
}

TEST(SenderReports, SummaryHasTheViewersOfAStreamBelowIt) {
  Stream left(named("left"));
  Stream right(named("right"));
  produce(left, 1);
  const std::vector<StreamResult> streams = {{&left, 0, ""}, {&right, 2, "it broke"}};
  const std::vector<SessionReport> reports = {session("right", 3), session("left", 1), session("right", 4)};
  EXPECT_EQ(summary_lines(streams, reports),
            (Lines{"stream left: 1 frames in 0.0 s", "viewer of left (tcp): 1 sent, 0 skipped, 0 lost; the viewer left",
                   "stream right: 0 frames in 0.0 s, its input was lost 2 times, failed",
                   "viewer of right (tcp): 3 sent, 0 skipped, 0 lost; the viewer left",
                   "viewer of right (tcp): 4 sent, 0 skipped, 0 lost; the viewer left"}));
  EXPECT_EQ(summary_lines(std::vector{streams[1]}, {}),
            (Lines{"stream right: 0 frames in 0.0 s, its input was lost 2 times"}))
      << "the program's error says why, next";
}

TEST(SenderReports, SummarySaysWithWhichFrameAViewerJoined) {
  Stream stream(named("film"));
  produce(stream, 11);
  SessionReport late = session("film", 7);
  late.counts.first_frame = 5;
  SessionReport early = session("film", 11);
  early.counts.first_frame = 1;
  EXPECT_EQ(summary_lines(std::vector<StreamResult>{{&stream, 0, ""}}, std::vector{late, early}),
            (Lines{"stream film: 11 frames in " + seconds_of(stream),
                   "viewer of film (tcp): joined at frame 5; 7 sent, 0 skipped, 0 lost; the viewer left",
                   "viewer of film (tcp): 11 sent, 0 skipped, 0 lost; the viewer left"}));
}

TEST(SenderReports, FailureSummaryNamesStreamsThatFailed) {
  Stream left(named("left"));
  Stream right(named("right"));
  EXPECT_EQ(failure_summary(std::vector<StreamResult>{{&left, 0, ""}, {&right, 0, ""}}), "");
  EXPECT_EQ(failure_summary(std::vector<StreamResult>{{&left, 0, ""}, {&right, 0, "x"}}),
            "1 of 2 streams failed: right");
  EXPECT_EQ(failure_summary(std::vector<StreamResult>{{&left, 0, "x"}, {&right, 0, "x"}}),
            "2 of 2 streams failed: left, right");
}

TEST(SenderReports, StatisticsOfOneStreamHaveNoList) {
  Stream stream(named("film"));
  produce(stream, 3);
  const std::vector<StreamResult> streams = {{&stream, 1, "it broke"}};
  const Json json = Json::parse(sender_statistics_json(streams, std::vector{session("film", 2)}));
  EXPECT_FALSE(json.contains("streams"));
  EXPECT_FALSE(json.contains("error"));
  EXPECT_EQ(json["frames_produced"], 3);
  EXPECT_EQ(json["source_losses"], 1);
  EXPECT_EQ(json["sessions"].size(), 1U);
}

TEST(SenderStatistics, SayHowADeviceReachesFramesInAGpu) {
  std::vector reports = {session("film", 2), session("film", 3)};
  reports.back().memory = "cuda";
  reports.back().memory_access = {.way = "peer-memory", .passed_over = "no data-direct: …; no DMA-BUF: …"};
  const Json json = Json::parse(sender_statistics_json({}, reports));
  EXPECT_EQ(json["sessions"][0]["memory_access"], nullptr);
  EXPECT_EQ(json["sessions"][0]["memory_access_reason"], nullptr);
  EXPECT_EQ(json["sessions"][1]["memory_access"], "peer-memory");
  EXPECT_EQ(json["sessions"][1]["memory_access_reason"], "no data-direct: …; no DMA-BUF: …");
}

TEST(SenderReports, StatisticsOfSeveralStreamsHaveEach) {
  Stream left(named("left"));
  Stream right(named("right"));
  produce(left, 3);
  produce(right, 4);
  const std::vector<StreamResult> streams = {{&left, 0, "", "h264 (cuda)"}, {&right, 1, "it broke"}};
  const std::vector<SessionReport> reports = {session("right", 4), session("left", 1), session("right", 2)};
  const Json json = Json::parse(sender_statistics_json(streams, reports));
  ASSERT_EQ(json["streams"].size(), 2U);
  EXPECT_EQ(json["streams"][0]["name"], "left");
  EXPECT_EQ(json["streams"][0]["error"], nullptr);
  EXPECT_EQ(json["streams"][1]["name"], "right");
  EXPECT_EQ(json["streams"][1]["error"], "it broke");
  EXPECT_EQ(json["streams"][1]["source_losses"], 1);
  EXPECT_EQ(json["decoder"], "h264 (cuda)");
  EXPECT_EQ(json["streams"][0]["decoder"], "h264 (cuda)");
  EXPECT_EQ(json["streams"][1]["decoder"], nullptr);
  EXPECT_EQ(json["streams"][1]["frames_sent"], 6);
  for (const char* field : {"frames_produced", "frames_sent", "frames_received", "source_losses"}) {
    EXPECT_EQ(json[field], json["streams"][0][field].get<int>() + json["streams"][1][field].get<int>()) << field;
  }
  EXPECT_EQ(json["sessions"].size(), 3U);
}

TEST(SenderReports, StatisticsBeforeAnythingWasOpened) {
  const Json json = Json::parse(sender_statistics_json({}, {}));
  EXPECT_EQ(json["frames_produced"], 0);
  EXPECT_EQ(json["sessions"], Json::array());
}

}  // namespace
}  // namespace framewire
