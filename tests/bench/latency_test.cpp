// The percentiles and the uncertainty that bench reports, of distributions whose answers are known.
#include <gtest/gtest.h>

#include <cstdint>

#include "bench/row.hpp"

namespace framewire {
namespace {

constexpr double bin_width = 1.0 / 64;  // of base/histogram.hpp, relative

void expect_near(double us, double wanted_us) {
  EXPECT_NEAR(us, wanted_us, wanted_us * bin_width);
}

TEST(Latency, PercentilesOfOneToAThousandAreTheRanks) {
  for (const bool backwards : {false, true}) {
    Histogram histogram;
    for (std::int64_t i = 1; i <= 1000; ++i) {
      histogram.add(1000 * (backwards ? 1001 - i : i));
    }
    const LatencyUs latency = latency_of(histogram);
    expect_near(latency.p50, 500);
    expect_near(latency.p99, 990);
    expect_near(latency.p99_9, 999);
    EXPECT_EQ(latency.max, 1000);
  }
}

TEST(Latency, AConstantHasNoSpread) {
  for (const std::int64_t ns : {0, 1, 63, 64, 12'345, 1'000'000'000}) {
    Histogram histogram;
    for (int i = 0; i < 5000; ++i) {
      histogram.add(ns);
    }
    const LatencyUs latency = latency_of(histogram);
    EXPECT_EQ(latency.max, static_cast<double>(ns) / 1e3);
    expect_near(latency.p50, latency.max);
    EXPECT_EQ(latency.p99, latency.p50);
    EXPECT_EQ(latency.p99_9, latency.p50);
  }
}

TEST(Latency, OneSlowMessageInAThousandIsBeyondP99_9AndTwoAreNot) {
  for (const int slow : {1, 2}) {
    Histogram histogram;
    for (int i = 0; i < 1000; ++i) {
      histogram.add(i < slow ? 1'000'000 : 10);
    }
    const LatencyUs latency = latency_of(histogram);
    EXPECT_EQ(latency.p99, 0.01);
    expect_near(latency.p99_9, slow == 1 ? 0.01 : 1000);
    EXPECT_EQ(latency.max, 1000);
  }
}

TEST(Latency, OfNothingIsZero) {
  const LatencyUs latency = latency_of(Histogram());
  EXPECT_EQ(latency.p50, 0);
  EXPECT_EQ(latency.p99_9, 0);
  EXPECT_EQ(latency.max, 0);
}

}  // namespace
}  // namespace framewire
