#include "transport/source_cadence.hpp"

#include <gtest/gtest.h>

#include "base/clock.hpp"

namespace framewire {
namespace {

constexpr std::int64_t period_ns = 16'683'333;
constexpr std::int64_t now_ns = ns_per_s;

class SourceCadenceTest : public testing::Test {
 protected:
  SourceCadenceTest() { cadence_.offer(period_ns); }

  SourceCadence cadence_;
  const int one_ = 0;
  const int other_ = 0;
};

TEST_F(SourceCadenceTest, HandsRequestsToTheSource) {
  EXPECT_FALSE(cadence_.take_change());
  EXPECT_EQ(cadence_.ask(&one_, {.period_ns = 16'666'667, .shift_ns = -3'000'000}, now_ns), "");
  EXPECT_EQ(cadence_.take_change(), (CadenceRequest{.period_ns = 16'666'667, .shift_ns = -3'000'000}));
  EXPECT_FALSE(cadence_.take_change());
}

TEST_F(SourceCadenceTest, AddsUpShiftsThatTheSourceHasNotTaken) {
  EXPECT_EQ(cadence_.ask(&one_, {.period_ns = period_ns, .shift_ns = 1'000'000}, now_ns), "");
  EXPECT_EQ(cadence_.ask(&one_, {.period_ns = period_ns, .shift_ns = 2'000'000}, now_ns), "");
  EXPECT_EQ(cadence_.take_change()->shift_ns, 3'000'000);
}

TEST_F(SourceCadenceTest, TheFirstAskerDecidesUntilItLeaves) {
  EXPECT_EQ(cadence_.ask(&one_, {.period_ns = 16'666'667, .shift_ns = 0}, now_ns), "");
  EXPECT_NE(cadence_.ask(&other_, {.period_ns = period_ns, .shift_ns = 0}, now_ns).find("another viewer"),
            std::string::npos);
  cadence_.forget(&other_);
  static_cast<void>(cadence_.take_change());
  EXPECT_NE(cadence_.ask(&other_, {.period_ns = period_ns, .shift_ns = 0}, now_ns), "");
  cadence_.forget(&one_);
  EXPECT_EQ(cadence_.take_change(), (CadenceRequest{.period_ns = period_ns, .shift_ns = 0})) << "its own again";
  EXPECT_EQ(cadence_.ask(&other_, {.period_ns = period_ns, .shift_ns = 5}, now_ns), "");
}

TEST_F(SourceCadenceTest, RefusesAPeriodThatIsNotItsOwn) {
  for (const std::int64_t wrong :
       {std::int64_t{20'000'000}, std::int64_t{8'333'333}, std::int64_t{0}, std::int64_t{-1}, INT64_MAX, INT64_MIN}) {
    EXPECT_NE(cadence_.ask(&one_, {.period_ns = wrong, .shift_ns = 0}, now_ns), "") << wrong;
  }
  EXPECT_FALSE(cadence_.take_change());
  EXPECT_EQ(cadence_.ask(&other_, {.period_ns = period_ns, .shift_ns = 0}, now_ns), "")
      << "a refused viewer decides nothing";
}

TEST_F(SourceCadenceTest, ShiftsByAPeriodAtMostInAQuarterOfASecond) {
  constexpr std::int64_t quarter_ns = ns_per_s / 4;
  const auto ask = [this](std::int64_t shift_ns, std::int64_t at_ns) {
    EXPECT_EQ(cadence_.ask(&one_, {.period_ns = period_ns, .shift_ns = shift_ns}, at_ns), "");
  };
  for (const std::int64_t shift_ns : {INT64_MAX, INT64_MIN}) {
    const std::int64_t begin_ns = shift_ns > 0 ? ns_per_s : 2 * ns_per_s;
    const std::int64_t shifted_ns = shift_ns > 0 ? period_ns : -period_ns;
    ask(shift_ns, begin_ns);
    ask(shift_ns, begin_ns + quarter_ns - 1);
    EXPECT_EQ(cadence_.take_change()->shift_ns, shifted_ns);
    ask(shift_ns / 2, begin_ns + quarter_ns);
    EXPECT_EQ(cadence_.take_change()->shift_ns, shifted_ns);
  }
}

TEST(SourceCadence, OfASourceWithTimesOfItsOwnIsRefused) {
  SourceCadence cadence;
  const int viewer = 0;
  EXPECT_NE(cadence.ask(&viewer, {.period_ns = period_ns, .shift_ns = 0}, now_ns).find("times of its own"),
            std::string::npos);
  cadence.forget(&viewer);
  EXPECT_FALSE(cadence.take_change());
}

}  // namespace
}  // namespace framewire
