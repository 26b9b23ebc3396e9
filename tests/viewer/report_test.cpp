#include "viewer/report.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/clock.hpp"

namespace framewire {
namespace {

using nlohmann::json;

class ReportTest : public testing::Test {
 protected:
  void show_frames(int count) {
    for (int i = 0; i < count; ++i) {
      const std::int64_t at_ns = ns_per_s + i * ns_per_s / 60;
      statistics_.frame_received(1'000'000, at_ns);
      statistics_.frame_shown(
          {.begun_ns = at_ns - 8 * ns_per_ms, .completed_ns = at_ns - 2 * ns_per_ms, .offered_ns = at_ns - ns_per_ms},
          {.received_ns = at_ns, .selected_ns = at_ns + 1, .uploaded_ns = at_ns + 2, .shown_ns = at_ns + ns_per_ms}, 0);
    }
  }

  [[nodiscard]] ViewerReport report() const {
    return {.streams = {{.statistics = statistics_,
                         .peer_text = "box:5290",
                         .session_counts = session_,
                         .status = status_,
                         .pacing = pacing_}},
            .refresh_period_ns = refresh_period_ns_,
            .surface = "headless 960x540",
            .quality = "fast",
            .renderer = "llvmpipe",
            .upload = "pinned memory"};
  }

  Statistics statistics_;
  SubscriberCounts session_;
  SubscriberStatus status_;
  std::optional<Pacing> pacing_;
  std::int64_t refresh_period_ns_ = 0;
};

TEST_F(ReportTest, SaysHowFramesArePaced) {
  show_frames(61);
  EXPECT_TRUE(json::parse(stats_json(report())).at("pacing_delay_ms").is_null());
  EXPECT_TRUE(json::parse(stats_json(report())).at("refresh_hz").is_null());
  pacing_ = Pacing{.jitter_ns = 4'100'000, .delay_ns = 5'100'000};
  refresh_period_ns_ = 16'666'667;
  const json stats = json::parse(stats_json(report()));
  EXPECT_EQ(stats.at("pacing_jitter_ms"), 4.1);
  EXPECT_EQ(stats.at("pacing_delay_ms"), 5.1);
  EXPECT_NEAR(stats.at("refresh_hz").get<double>(), 60, 1e-3);
  EXPECT_EQ(summary(report()).at(3),
            "pacing   chosen 5.1 ms after the quickest arrival (jitter p99.9 4.1 ms); screen 60.00 Hz");
}

TEST_F(ReportTest, SaysWhatBecameOfTheInput) {
  const auto has_line = [this] {
    return std::ranges::any_of(summary(report()), [](const std::string& line) { return line.starts_with("input"); });
  };
  EXPECT_FALSE(has_line());
  EXPECT_EQ(json::parse(stats_json(report())).at("input_events_sent"), 0);
  statistics_.input_events(InputFate::sent, 7);
  statistics_.input_events(InputFate::lost, 2);
  EXPECT_TRUE(has_line());
  EXPECT_EQ(summary(report()).back(), "input    7 events sent, 2 lost");
  EXPECT_EQ(json::parse(stats_json(report())).at("input_latency_ms"), nullptr);
  statistics_.input_handed_over(2'000'000);
  EXPECT_NEAR(json::parse(stats_json(report())).at("input_latency_ms").at("p50").get<double>(), 2, 0.1);
  EXPECT_EQ(json::parse(stats_json(report())).at("input_events_sent"), 7);
  EXPECT_EQ(json::parse(stats_json(report())).at("input_events_lost"), 2);
}

TEST_F(ReportTest, JsonHasEveryKeyOfTheDesign) {
  show_frames(61);
  session_.frames_lost = 2;
  session_.frames_skipped = 3;
  status_.transport = "local";
  status_.memory = "host";
  const json stats = json::parse(stats_json(report()));
  EXPECT_EQ(stats.at("frames_received"), 61);
  EXPECT_EQ(stats.at("frames_shown"), 61);
  EXPECT_EQ(stats.at("frames_superseded"), 0);
  EXPECT_EQ(stats.at("frames_lost"), 2);
  EXPECT_EQ(stats.at("frames_skipped"), 3);
  EXPECT_EQ(stats.at("bytes_received"), 61'000'000);
  EXPECT_NEAR(stats.at("seconds").get<double>(), 1.001, 1e-6);
  EXPECT_NEAR(stats.at("fps").get<double>(), 60, 1e-3);
  EXPECT_NEAR(stats.at("gigabytes_per_second").get<double>(), 0.0609, 1e-3);
  EXPECT_NEAR(stats.at("latency_ms").at("p50").get<double>(), 3, 0.03);
  EXPECT_NEAR(stats.at("latency_ms").at("p99").get<double>(), 3, 0.03);
  EXPECT_NEAR(stats.at("latency_ms").at("max").get<double>(), 3, 1e-6);
  for (const char* stage : {"produce", "offer", "wire", "queue", "upload", "present"}) {
    EXPECT_TRUE(stats.at("stage_latency_ms").at(stage).contains("p99")) << stage;
  }
  EXPECT_EQ(stats.at("transport"), "local");
  EXPECT_EQ(stats.at("memory"), "host");
  EXPECT_EQ(stats.at("memory_access"), nullptr);
  EXPECT_EQ(stats.at("memory_access_reason"), nullptr);
}

TEST_F(ReportTest, JsonSaysHowFramesCameToAGpu) {
  status_.memory = "cuda";
  status_.memory_access = {.way = "dma-buf", .passed_over = "no data-direct: the RDMA device has none"};
  const json stats = json::parse(stats_json(report()));
  EXPECT_EQ(stats.at("memory_access"), "dma-buf");
  EXPECT_EQ(stats.at("memory_access_reason"), "no data-direct: the RDMA device has none");
}

TEST_F(ReportTest, JsonSaysNullWhereNothingIsKnown) {
  const json stats = json::parse(stats_json(report()));
  EXPECT_EQ(stats.at("frames_received"), 0);
  EXPECT_TRUE(stats.at("frames_torn").is_null());
  EXPECT_TRUE(stats.at("latency_ms").is_null());
  EXPECT_TRUE(stats.at("stage_latency_ms").at("wire").is_null());
  EXPECT_TRUE(stats.at("transport").is_null());
  EXPECT_TRUE(stats.at("format").is_null());
}

TEST_F(ReportTest, SaysWhatWasRecordedOfThePicture) {
  ViewerReport one = report();
  EXPECT_TRUE(json::parse(stats_json(one)).at("pictures_recorded").is_null());
  one.pictures = ViewerCounts{.frames_recorded = 5, .frames_repeated = 2, .frames_unrecorded = 1};
  const json stats = json::parse(stats_json(one));
  EXPECT_EQ(stats.at("pictures_recorded"), 5);
  EXPECT_EQ(stats.at("pictures_repeated"), 2);
  EXPECT_EQ(stats.at("pictures_unrecorded"), 1);
  EXPECT_EQ(summary(one).back(), "output   5 pictures recorded and 2 repeated, 1 not recorded");
}

TEST_F(ReportTest, JsonCountsTornFramesOnceSomeWereChecked) {
  statistics_.frame_checked(false);
  EXPECT_EQ(json::parse(stats_json(report())).at("frames_torn"), 0);
  statistics_.frame_checked(true);
  EXPECT_EQ(json::parse(stats_json(report())).at("frames_torn"), 1);
}

TEST_F(ReportTest, JsonSurvivesTextThatIsNotUtf8) {
  status_.transport = "\xff\xfe";
  EXPECT_TRUE(json::accept(stats_json(report())));
}

TEST_F(ReportTest, SummaryHasCountsLatencyStagesAndPath) {
  show_frames(61);
  status_.transport = "local";
  status_.memory = "host";
  const auto lines = summary(report());
  ASSERT_EQ(lines.size(), 4U);
  EXPECT_EQ(lines[0], "frames   61 received, 61 shown, 0 superseded, 0 skipped, 0 lost; 1.0 s, 60.00 fps, 60.9 MB/s");
  EXPECT_EQ(lines[1].substr(0, 22), "latency  p50 3.0 ms, p");
  EXPECT_NE(lines[2].find("wire 1.0"), std::string::npos) << lines[2];
  EXPECT_EQ(lines[3], "path     local link, host memory, headless 960x540, fast quality, llvmpipe by pinned memory");
}

TEST_F(ReportTest, SummaryOfNothingIsOneLine) {
  EXPECT_EQ(summary(report()),
            std::vector<std::string>{"frames   0 received, 0 shown, 0 superseded, 0 skipped, 0 lost"});
}

TEST_F(ReportTest, LiveLineNamesTroubleOnlyWhenThereIsSome) {
  const RecentRates rates{.frames_per_s = 60,
                          .gigabytes_per_s = 1.99,
                          .latency_p50_ns = 4'200'000,
                          .latency_p99_ns = 7'900'000,
                          .has_latency = true};
  EXPECT_EQ(live_line({.rates = rates, .counts = {.frames_shown = 60}}),
            "60.0 fps · 1.99 GB/s · latency 4.2 ms (p99 7.9) · shown 60 · superseded 0 · skipped 0");
  const std::string trouble =
      live_line({.rates = rates, .counts = {.frames_torn = 1}, .session_counts = {.frames_lost = 2}});
  EXPECT_NE(trouble.find("lost 2"), std::string::npos);
  EXPECT_NE(trouble.find("TORN 1"), std::string::npos);
  EXPECT_TRUE(live_line({.rates = rates, .silence = "no frame for 3 s"}).ends_with(" · skipped 0 · no frame for 3 s"));
}

TEST(FormatMs, KeepsAboutTwoDigits) {
  EXPECT_EQ(format_ms(40'000), "0.04");
  EXPECT_EQ(format_ms(4'200'000), "4.2");
  EXPECT_EQ(format_ms(125'400'000), "125");
  EXPECT_EQ(format_ms(0), "0.00");
}

}  // namespace
}  // namespace framewire
