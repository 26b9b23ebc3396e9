#include "transport/session/clock_comparison.hpp"

#include <gtest/gtest.h>

namespace framewire {
namespace {

constexpr std::int64_t drift_ppm = 20;

/// A sender whose clock is a second ahead of ours, and 20 ppm too fast.
std::int64_t time_of_sender(std::int64_t now_ns) {
  return now_ns + ns_per_s + now_ns / 1'000'000 * drift_ppm;
}

/// Compares the clocks at `now_ns`; each answer takes `trip_ns` there and `trip_ns` back.
void compare(ClockComparison& clocks, std::int64_t& now_ns, std::int64_t trip_ns) {
  for (std::optional<ClockMessage> question = clocks.begin(now_ns); question;) {
    const std::int64_t sender_ns = time_of_sender(now_ns + trip_ns);
    now_ns += 2 * trip_ns;
    question = clocks.take({.viewer_ns = question->viewer_ns, .sender_ns = sender_ns}, now_ns);
  }
}

std::int64_t error_at(const ClockComparison& clocks, std::int64_t now_ns) {
  const std::int64_t error_ns = time_of_sender(now_ns) - now_ns - clocks.estimate().offset_ns;
  return error_ns < 0 ? -error_ns : error_ns;
}

TEST(ClockComparison, StaysRightForHours) {
  ClockComparison clocks;
  std::int64_t now_ns = 1000 * ns_per_s;
  for (int hours = 0; hours < 3; ++hours) {
    for (const std::int64_t end_ns = now_ns + 3600 * ns_per_s; now_ns < end_ns; now_ns += ns_per_s) {
      if (clocks.is_due(now_ns)) {
        compare(clocks, now_ns, 50 * ns_per_us);
      }
      ASSERT_LE(error_at(clocks, now_ns), clocks.estimate().uncertainty_at(now_ns));
      ASSERT_LT(error_at(clocks, now_ns), ns_per_ms);
    }
  }
}

TEST(ClockComparison, IsLessCertainTheOlderItIs) {
  ClockComparison clocks;
  std::int64_t now_ns = ns_per_s;
  compare(clocks, now_ns, 50 * ns_per_us);
  EXPECT_EQ(clocks.estimate().uncertainty_at(now_ns), 50 * ns_per_us);
  now_ns += 3600 * ns_per_s;  // nobody has answered since
  EXPECT_EQ(clocks.estimate().uncertainty_at(now_ns), 50 * ns_per_us + 180 * ns_per_ms);
  EXPECT_LE(error_at(clocks, now_ns), clocks.estimate().uncertainty_at(now_ns));
}

TEST(ClockComparison, KeepsWhatIsMoreCertainThanASlowAnswer) {
  ClockComparison clocks;
  std::int64_t now_ns = ns_per_s;
  compare(clocks, now_ns, 50 * ns_per_us);
  const std::int64_t before_ns = clocks.estimate().compared_ns;
  now_ns += ClockComparison::period_ns;
  compare(clocks, now_ns, 20 * ns_per_ms);
  EXPECT_EQ(clocks.estimate().compared_ns, before_ns);
  now_ns += 1000 * ns_per_s;
  compare(clocks, now_ns, 20 * ns_per_ms);
  EXPECT_GT(clocks.estimate().compared_ns, before_ns) << "by now the clocks may have drifted further apart";
}

TEST(ClockComparison, TakesNothingThatItHasNotAskedFor) {
  ClockComparison clocks;
  EXPECT_FALSE(clocks.take({.viewer_ns = 0, .sender_ns = 5}, 7));
  EXPECT_EQ(clocks.estimate().compared_ns, 0);
  const ClockMessage question = clocks.begin(ns_per_s);
  EXPECT_FALSE(clocks.take({.viewer_ns = question.viewer_ns - 1, .sender_ns = 5}, ns_per_s + 7));
  EXPECT_EQ(clocks.estimate().compared_ns, 0);
  EXPECT_FALSE(clocks.is_due(ns_per_s + ClockComparison::period_ns - 1));
  EXPECT_TRUE(clocks.is_due(ns_per_s + ClockComparison::period_ns)) << "a sender that does not answer is asked again";
}

TEST(ClockComparison, OneClockDoesNotDrift) {
  EXPECT_EQ(ClockEstimate{}.uncertainty_at(3600 * ns_per_s), 0);
}

}  // namespace
}  // namespace framewire
