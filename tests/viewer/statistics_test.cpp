#include "viewer/statistics.hpp"

#include <gtest/gtest.h>

#include "base/clock.hpp"

namespace framewire {
namespace {

/// A frame that was completed at `completed_ns` by the sender's clock.
FrameTimes completed_at(std::int64_t completed_ns) {
  return {
      .begun_ns = completed_ns - 9 * ns_per_ms, .completed_ns = completed_ns, .offered_ns = completed_ns + ns_per_ms};
}

TEST(Statistics, CountsEveryReceivedFrameOnce) {
  Statistics statistics;
  for (std::int64_t i = 0; i < 10; ++i) {
    statistics.frame_received(1000, i * ns_per_s);
    if (i % 3 == 0) {
      statistics.frame_superseded();
    } else {
      statistics.frame_shown({}, {.shown_ns = i * ns_per_s + 1}, 0);
    }
  }
  const ViewerCounts& counts = statistics.counts();
  EXPECT_EQ(counts.frames_received, 10U);
  EXPECT_EQ(counts.frames_shown, 6U);
  EXPECT_EQ(counts.frames_superseded, 4U);
  EXPECT_EQ(counts.frames_received, counts.frames_shown + counts.frames_superseded);
  EXPECT_EQ(counts.bytes_received, 10'000U);
}

TEST(Statistics, MeasuresLatencyAndStagesOnOneClock) {
  Statistics statistics;
  const std::int64_t completed_ns = 100 * ns_per_ms;
  statistics.frame_shown(completed_at(completed_ns),
                         {.received_ns = 103 * ns_per_ms,
                          .selected_ns = 104 * ns_per_ms,
                          .uploaded_ns = 107 * ns_per_ms,
                          .shown_ns = 112 * ns_per_ms},
                         0);
  const auto at_most = [&](LatencyStage stage) { return statistics.stage(stage).max_ns() / ns_per_ms; };
  EXPECT_EQ(statistics.latency().max_ns(), 12 * ns_per_ms);
  EXPECT_EQ(at_most(LatencyStage::produce), 9);
  EXPECT_EQ(at_most(LatencyStage::offer), 1);
  EXPECT_EQ(at_most(LatencyStage::wire), 2);
  EXPECT_EQ(at_most(LatencyStage::queue), 1);
  EXPECT_EQ(at_most(LatencyStage::upload), 3);
  EXPECT_EQ(at_most(LatencyStage::present), 5);
  EXPECT_EQ(at_most(LatencyStage::offer) + at_most(LatencyStage::wire) + at_most(LatencyStage::queue) +
                at_most(LatencyStage::upload) + at_most(LatencyStage::present),
            12);
}

TEST(Statistics, CorrectsForTheSendersClock) {
  Statistics statistics;
  const std::int64_t offset_ns = 5000 * ns_per_s;
  statistics.frame_shown(completed_at(offset_ns + 100 * ns_per_ms),
                         {.received_ns = 103 * ns_per_ms,
                          .selected_ns = 104 * ns_per_ms,
                          .uploaded_ns = 105 * ns_per_ms,
                          .shown_ns = 110 * ns_per_ms},
                         offset_ns);
  EXPECT_EQ(statistics.latency().max_ns(), 10 * ns_per_ms);
  EXPECT_EQ(statistics.stage(LatencyStage::wire).max_ns(), 2 * ns_per_ms);
  EXPECT_EQ(statistics.stage(LatencyStage::queue).max_ns(), ns_per_ms);
}

TEST(Statistics, LeavesOutWhatTheSenderDidNotSay) {
  Statistics statistics;
  statistics.frame_shown({}, {.received_ns = 1, .selected_ns = 2, .uploaded_ns = 3, .shown_ns = 4}, 77);
  EXPECT_EQ(statistics.latency().count(), 0U);
  EXPECT_EQ(statistics.stage(LatencyStage::produce).count(), 0U);
  EXPECT_EQ(statistics.stage(LatencyStage::offer).count(), 0U);
  EXPECT_EQ(statistics.stage(LatencyStage::wire).count(), 0U);
  EXPECT_EQ(statistics.stage(LatencyStage::present).count(), 1U);
}

TEST(Statistics, TimesTheFirstFrameOfTheNewestSession) {
  Statistics statistics;
  statistics.await_first_frame(100 * ns_per_ms);
  statistics.frame_shown({}, {.shown_ns = 180 * ns_per_ms}, 0);
  statistics.frame_shown({}, {.shown_ns = 190 * ns_per_ms}, 0);
  EXPECT_EQ(statistics.connect_to_first_frame_ns(), 80 * ns_per_ms);
  statistics.await_first_frame(900 * ns_per_ms);
  EXPECT_EQ(statistics.connect_to_first_frame_ns(), 80 * ns_per_ms);
  statistics.frame_shown({}, {.shown_ns = 950 * ns_per_ms}, 0);
  EXPECT_EQ(statistics.connect_to_first_frame_ns(), 50 * ns_per_ms);
}

TEST(Statistics, HasRatesFromTheSecondFrameOn) {
  Statistics statistics;
  EXPECT_EQ(statistics.frames_per_s(), 0);
  EXPECT_EQ(statistics.seconds(), 0);
  for (std::int64_t i = 0; i < 61; ++i) {
    statistics.frame_received(33'177'600, i * ns_per_s / 60);
    statistics.frame_shown({}, {.shown_ns = i * ns_per_s / 60 + 5 * ns_per_ms}, 0);
    if (i == 0) {
      EXPECT_EQ(statistics.frames_per_s(), 0);
      EXPECT_EQ(statistics.gigabytes_per_s(), 0);
    }
  }
  EXPECT_NEAR(statistics.frames_per_s(), 60, 1e-6);
  EXPECT_NEAR(statistics.seconds(), 1.005, 1e-6);
  EXPECT_NEAR(statistics.gigabytes_per_s(), 61 * 33'177'600 / 1.005e9, 1e-6);
}

TEST(Statistics, CountsTornFramesAmongThoseThatWereChecked) {
  Statistics statistics;
  statistics.frame_checked(false);
  statistics.frame_checked(true);
  EXPECT_EQ(statistics.counts().frames_checked, 2U);
  EXPECT_EQ(statistics.counts().frames_torn, 1U);
}

TEST(RecentMeter, MeasuresFromOneLookToTheNext) {
  RecentMeter meter;
  meter.take_rates(ns_per_s);
  for (int i = 0; i < 30; ++i) {
    meter.frame_received(1'000'000);
    meter.frame_shown();
    meter.latency(4 * ns_per_ms);
  }
  const RecentRates rates = meter.take_rates(ns_per_s + ns_per_s / 2);
  EXPECT_DOUBLE_EQ(rates.frames_per_s, 60);
  EXPECT_DOUBLE_EQ(rates.gigabytes_per_s, 0.06);
  EXPECT_TRUE(rates.has_latency);
  EXPECT_NEAR(static_cast<double>(rates.latency_p50_ns), 4e6, 4e4);
  const RecentRates quiet = meter.take_rates(2 * ns_per_s);
  EXPECT_EQ(quiet.frames_per_s, 0);
  EXPECT_FALSE(quiet.has_latency);
}

}  // namespace
}  // namespace framewire
