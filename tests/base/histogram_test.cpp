#include "base/histogram.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

namespace framewire {
namespace {

TEST(Histogram, IsZeroWhenEmpty) {
  const Histogram histogram;
  EXPECT_EQ(histogram.count(), 0U);
  EXPECT_EQ(histogram.percentile_ns(0.5), 0);
  EXPECT_EQ(histogram.max_ns(), 0);
}

TEST(Histogram, AgreesWithSortingWithinOnePercent) {
  std::mt19937_64 random(42);
  std::lognormal_distribution<double> spread(12, 3);
  Histogram histogram;
  std::vector<std::int64_t> all;
  for (int i = 0; i < 20'000; ++i) {
    all.push_back(static_cast<std::int64_t>(spread(random)));
    histogram.add(all.back());
  }
  std::ranges::sort(all);
  for (const double share : {0.01, 0.25, 0.5, 0.9, 0.99, 0.999}) {
    const auto exact =
        static_cast<double>(all[static_cast<std::size_t>(std::ceil(share * static_cast<double>(all.size()))) - 1]);
    EXPECT_NEAR(static_cast<double>(histogram.percentile_ns(share)), exact, exact * 0.02) << share;
  }
  EXPECT_EQ(histogram.max_ns(), all.back());
}

TEST(Histogram, TakesTheExtremes) {
  Histogram histogram;
  histogram.add(-5);
  histogram.add(INT64_MAX);
  EXPECT_EQ(histogram.count(), 2U);
  EXPECT_EQ(histogram.percentile_ns(0.1), 0);
  EXPECT_EQ(histogram.max_ns(), INT64_MAX);
}

}  // namespace
}  // namespace framewire
