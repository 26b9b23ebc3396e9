#include "media/frame_rate.hpp"

#include <gtest/gtest.h>

#include "base/clock.hpp"

namespace framewire {
namespace {

TEST(FrameRate, UsualOnesAreExact) {
  EXPECT_EQ(rational_rate(60), (Rational{60, 1}));
  EXPECT_EQ(rational_rate(23.976), (Rational{24000, 1001}));
  EXPECT_EQ(rational_rate(29.97), (Rational{30000, 1001}));
  EXPECT_EQ(rational_rate(59.94), (Rational{60000, 1001}));
  EXPECT_EQ(rational_rate(119.88), (Rational{120000, 1001}));
  EXPECT_EQ(rational_rate(12.5), (Rational{12500, 1000}));
  EXPECT_EQ(rational_rate(0.1), (Rational{100, 1000}));
  EXPECT_EQ(rational_rate(0).numerator, 0U);
  EXPECT_EQ(rational_rate(-5).numerator, 0U);
}

TEST(FrameRate, TimesDoNotDrift) {
  constexpr Rational ntsc{60000, 1001};
  EXPECT_EQ(frame_time_ns(ntsc, 0), 0);
  EXPECT_EQ(frame_time_ns(ntsc, 1), 16'683'333);
  EXPECT_EQ(frame_time_ns(ntsc, 60000), 1001 * ns_per_s);
  EXPECT_EQ(frame_time_ns(ntsc, std::uint64_t{60000} * 365 * 24), 1001 * ns_per_s * 365 * 24);
}

TEST(FrameRate, TimesThatDoNotFitAreTheLatest) {
  constexpr Rational slowest{1, UINT32_MAX};
  EXPECT_EQ(frame_time_ns(slowest, 2), 2 * std::int64_t{UINT32_MAX} * ns_per_s);
  EXPECT_EQ(frame_time_ns(slowest, 3), INT64_MAX);
  EXPECT_EQ(frame_time_ns(slowest, UINT32_MAX), INT64_MAX);
}

}  // namespace
}  // namespace framewire
