#include "base/bandwidth.hpp"

#include <gtest/gtest.h>

namespace framewire {
namespace {

TEST(FormatBandwidth, TakesTheUnitThatFits) {
  EXPECT_EQ(format_bandwidth(0), "0 B/s");
  EXPECT_EQ(format_bandwidth(12), "12 B/s");
  EXPECT_EQ(format_bandwidth(999.4), "999 B/s");
  EXPECT_EQ(format_bandwidth(999.6), "1.00 kB/s");
  EXPECT_EQ(format_bandwidth(8'010), "8.01 kB/s");
  EXPECT_EQ(format_bandwidth(60e6), "60.0 MB/s");
  EXPECT_EQ(format_bandwidth(100e6), "100 MB/s");
  EXPECT_EQ(format_bandwidth(1.05e9), "1.05 GB/s");
  EXPECT_EQ(format_bandwidth(49.97e9), "50.0 GB/s");
  EXPECT_EQ(format_bandwidth(4e15), "4000 TB/s");
}

TEST(FormatBandwidth, RoundsToThreeDigitsOnly) {
  EXPECT_EQ(format_bandwidth(9.996e6), "10.0 MB/s");
  EXPECT_EQ(format_bandwidth(99.96e6), "100 MB/s");
  EXPECT_EQ(format_bandwidth(999.6e6), "1.00 GB/s");
}

TEST(FormatBandwidth, DividesByATimeIfThereIsOne) {
  EXPECT_EQ(format_bandwidth(3, 0.000384), "7.81 kB/s");
  EXPECT_EQ(format_bandwidth(3, 0), "-");
}

}  // namespace
}  // namespace framewire
