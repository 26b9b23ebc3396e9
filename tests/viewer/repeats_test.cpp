#include "viewer/repeats.hpp"

#include <gtest/gtest.h>

#include "base/clock.hpp"

namespace framewire {
namespace {

constexpr Rational rate{50, 1};
constexpr std::int64_t frame_ns = ns_per_s / 50;

TEST(Repeats, FillTheGapsOfTheSequence) {
  Repeats repeats;
  EXPECT_EQ(repeats.copies(1, 100, rate), 1U) << "the first has nothing before it";
  EXPECT_EQ(repeats.copies(1, 101, rate), 1U);
  EXPECT_EQ(repeats.copies(1, 105, rate), 4U);
  EXPECT_EQ(repeats.copies(1, 106, rate), 1U);
  EXPECT_EQ(repeats.missing(), 0U);
}

TEST(Repeats, DoNotCountAcrossSessions) {
  Repeats repeats;
  EXPECT_EQ(repeats.copies(1, 0, rate), 1U);
  EXPECT_EQ(repeats.copies(2, 20, rate), 1U);
  EXPECT_EQ(repeats.copies(2, 22, rate), 2U);
  EXPECT_EQ(repeats.copies(2, 3, rate), 1U) << "back in the sequence, which no good sender does";
  EXPECT_EQ(repeats.missing(), 0U);
}

TEST(Repeats, HaveABound) {
  Repeats repeats;
  EXPECT_EQ(repeats.copies(1, 0, rate), 1U);
  EXPECT_EQ(repeats.copies(1, UINT64_MAX - 1, rate), 51U);
  EXPECT_EQ(repeats.missing(), UINT64_MAX - 2 - 50);
  Repeats slow;
  EXPECT_EQ(slow.copies(1, 0, {1, 10}), 1U);
  EXPECT_EQ(slow.copies(1, 9, {1, 10}), 2U) << "one frame of ten seconds";
  EXPECT_EQ(slow.copies(1, 12, {0, 1}), 1U) << "no rate, no repeating";
}

/// When writing is slower than the frame rate, repeated frames would only enlarge the gaps.
TEST(Repeats, StopWhereWritingDoesNotKeepUp) {
  Repeats repeats;
  std::uint64_t sequence = 0;
  for (int i = 0; i < 40; ++i) {
    repeats.written(repeats.copies(1, sequence++, rate), 2 * frame_ns);
  }
  EXPECT_EQ(repeats.copies(1, sequence + 5, rate), 1U);
  EXPECT_EQ(repeats.missing(), 5U);
  sequence += 6;
  for (int i = 0; i < 40; ++i) {
    repeats.written(repeats.copies(1, sequence++, rate), frame_ns / 4);
  }
  EXPECT_EQ(repeats.copies(1, sequence + 5, rate), 6U) << "it keeps up again";
}

}  // namespace
}  // namespace framewire
