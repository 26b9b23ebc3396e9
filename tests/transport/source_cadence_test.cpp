#include "transport/source_cadence.hpp"

#include <gtest/gtest.h>

namespace framewire {
namespace {

constexpr std::int64_t period_ns = 16'683'333;

class SourceCadenceTest : public testing::Test {
 protected:
  SourceCadenceTest() { cadence_.offer(period_ns); }

  SourceCadence cadence_;
  const int one_ = 0;
  const int other_ = 0;
};

TEST_F(SourceCadenceTest, HandsRequestsToTheSource) {
  EXPECT_FALSE(cadence_.take_change());
  EXPECT_EQ(cadence_.ask(&one_, {.period_ns = 16'666'667, .shift_ns = -3'000'000}), "");
  EXPECT_EQ(cadence_.take_change(), (CadenceRequest{.period_ns = 16'666'667, .shift_ns = -3'000'000}));
  EXPECT_FALSE(cadence_.take_change());
}

TEST_F(SourceCadenceTest, AddsUpShiftsThatTheSourceHasNotTaken) {
  EXPECT_EQ(cadence_.ask(&one_, {.period_ns = period_ns, .shift_ns = 1'000'000}), "");
  EXPECT_EQ(cadence_.ask(&one_, {.period_ns = period_ns, .shift_ns = 2'000'000}), "");
  EXPECT_EQ(cadence_.take_change()->shift_ns, 3'000'000);
}

TEST_F(SourceCadenceTest, TheFirstAskerDecidesUntilItLeaves) {
  EXPECT_EQ(cadence_.ask(&one_, {.period_ns = 16'666'667, .shift_ns = 0}), "");
  EXPECT_NE(cadence_.ask(&other_, {.period_ns = period_ns, .shift_ns = 0}).find("another viewer"), std::string::npos);
  cadence_.forget(&other_);
  static_cast<void>(cadence_.take_change());
  EXPECT_NE(cadence_.ask(&other_, {.period_ns = period_ns, .shift_ns = 0}), "");
  cadence_.forget(&one_);
  EXPECT_EQ(cadence_.take_change(), (CadenceRequest{.period_ns = period_ns, .shift_ns = 0})) << "its own again";
  EXPECT_EQ(cadence_.ask(&other_, {.period_ns = period_ns, .shift_ns = 5}), "");
}

TEST_F(SourceCadenceTest, RefusesAPeriodThatIsNotItsOwn) {
  for (const std::int64_t wrong :
       {std::int64_t{20'000'000}, std::int64_t{8'333'333}, std::int64_t{0}, std::int64_t{-1}, INT64_MAX, INT64_MIN}) {
    EXPECT_NE(cadence_.ask(&one_, {.period_ns = wrong, .shift_ns = 0}), "") << wrong;
  }
  EXPECT_FALSE(cadence_.take_change());
  EXPECT_EQ(cadence_.ask(&other_, {.period_ns = period_ns, .shift_ns = 0}), "") << "a refused viewer decides nothing";
}

TEST_F(SourceCadenceTest, ShiftsByAPeriodAtMost) {
  for (const std::int64_t shift_ns : {INT64_MAX, INT64_MIN}) {
    EXPECT_EQ(cadence_.ask(&one_, {.period_ns = period_ns, .shift_ns = shift_ns}), "");
    EXPECT_EQ(cadence_.ask(&one_, {.period_ns = period_ns, .shift_ns = shift_ns}), "");
    EXPECT_EQ(cadence_.take_change()->shift_ns, shift_ns > 0 ? period_ns : -period_ns);
  }
}

TEST(SourceCadence, OfASourceWithTimesOfItsOwnIsRefused) {
  SourceCadence cadence;
  const int viewer = 0;
  EXPECT_NE(cadence.ask(&viewer, {.period_ns = period_ns, .shift_ns = 0}).find("times of its own"), std::string::npos);
  cadence.forget(&viewer);
  EXPECT_FALSE(cadence.take_change());
}

}  // namespace
}  // namespace framewire
