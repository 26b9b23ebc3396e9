#include "viewer/refresh_schedule.hpp"

#include <gtest/gtest.h>

namespace framewire {
namespace {

constexpr std::int64_t period_ns = 16'666'667;

/// Refreshes `from` … `to` - 1, exactly.
void observe(RefreshModel& model, int from, int to) {
  for (int i = from; i < to; ++i) {
    model.observe(ns_per_s + i * period_ns, static_cast<std::uint64_t>(i));
  }
}

TEST(RefreshModel, PredictsNothingBeforeAFewRefreshes) {
  RefreshModel model;
  EXPECT_FALSE(model.next_after(0));
  observe(model, 0, 3);
  EXPECT_FALSE(model.next_after(ns_per_s + 3 * period_ns));
  observe(model, 3, 4);
  EXPECT_TRUE(model.next_after(ns_per_s + 3 * period_ns));
}

TEST(RefreshModel, PredictsTheNextRefresh) {
  RefreshModel model;
  observe(model, 0, 3);
  model.observe(ns_per_s + 9 * period_ns, 9);  // the ones between were not observed
  const auto next = model.next_after(ns_per_s + 9 * period_ns + 5);
  ASSERT_TRUE(next);
  EXPECT_NEAR(static_cast<double>(next->next_ns - ns_per_s), 10.0 * period_ns, 2);
  EXPECT_EQ(next->period_ns, period_ns);
  EXPECT_NEAR(static_cast<double>(model.next_after(ns_per_s + 12 * period_ns + 5)->next_ns - ns_per_s),
              13.0 * period_ns, 2);
}

TEST(RefreshModel, TheNextRefreshIsAlwaysAhead) {
  RefreshModel model;
  observe(model, 0, 100);
  for (std::int64_t at_ns = ns_per_s + 99 * period_ns; at_ns < ns_per_s + 104 * period_ns; at_ns += 12'345) {
    const auto next = model.next_after(at_ns);
    ASSERT_TRUE(next);
    ASSERT_GT(next->next_ns, at_ns);
    ASSERT_LE(next->next_ns, at_ns + period_ns + 2);
  }
}

/// A server that notices refreshes up to 5 ms late, as one without a screen does on a busy machine.
TEST(RefreshModel, EvensOutTheNoiseOfItsObservations) {
  RefreshModel model;
  for (int i = 0; i < 128; ++i) {
    model.observe(ns_per_s + i * period_ns + (i * 7919 % 50) * 100 * ns_per_us, static_cast<std::uint64_t>(i));
  }
  const auto next = model.next_after(ns_per_s + 128 * period_ns);
  EXPECT_NEAR(static_cast<double>(next->period_ns), 16'666'667, 16'667);  // 0.1 %
}

TEST(RefreshModel, ForgetsAfterASecond) {
  RefreshModel model;
  observe(model, 0, 5);
  EXPECT_TRUE(model.next_after(ns_per_s + 4 * period_ns + RefreshModel::longest_memory_ns));
  EXPECT_FALSE(model.next_after(ns_per_s + 4 * period_ns + RefreshModel::longest_memory_ns + 1));
}

TEST(RefreshModel, TwoAnswersAboutOneRefreshAreOne) {
  RefreshModel model;
  observe(model, 0, 5);
  model.observe(ns_per_s + 4 * period_ns + 100, 4);
  EXPECT_TRUE(model.next_after(ns_per_s + 5 * period_ns));
}

/// A server that answers nonsense, or a window on another screen.
TEST(RefreshModel, BeginsAnewWhereObservationsContradictEachOther) {
  RefreshModel model;
  observe(model, 10, 20);
  model.observe(ns_per_s + 20 * period_ns, 5);
  EXPECT_FALSE(model.next_after(ns_per_s + 20 * period_ns)) << "the count went back";
  RefreshModel too_fast;
  for (int i = 0; i < 10; ++i) {
    too_fast.observe(ns_per_s + i * 10, static_cast<std::uint64_t>(i));
  }
  EXPECT_FALSE(too_fast.next_after(ns_per_s + 100));
}

TEST(RefreshModel, KnowsFastScreens) {
  for (const std::int64_t fast_ns : {1'851'852, 1'000'000}) {  // 540 Hz and 1000 Hz
    RefreshModel model;
    for (int i = 0; i < 10; ++i) {
      model.observe(ns_per_s + i * fast_ns, static_cast<std::uint64_t>(i));
    }
    const auto next = model.next_after(ns_per_s + 9 * fast_ns);
    ASSERT_TRUE(next);
    EXPECT_EQ(next->period_ns, fast_ns);
  }
}

TEST(RefreshModel, FollowsAnotherRateSoon) {
  RefreshModel model;
  observe(model, 0, 200);
  const std::int64_t changed_ns = ns_per_s + 199 * period_ns;
  constexpr std::int64_t short_period_ns = period_ns / 2;
  for (int i = 1; i < 60; ++i) {
    model.observe(changed_ns + i * short_period_ns, 199U + static_cast<std::uint64_t>(i));
  }
  EXPECT_NEAR(static_cast<double>(model.next_after(changed_ns + 60 * short_period_ns)->period_ns),
              static_cast<double>(short_period_ns), 1e3);
}

class RefreshScheduleTest : public testing::Test {
 protected:
  static Refresh next_after(std::int64_t now_ns) { return {(now_ns / period_ns + 1) * period_ns, period_ns}; }
  std::int64_t choice_ns(std::int64_t now_ns) { return schedule_.choice_ns(next_after(now_ns), now_ns); }
  void cost(std::int64_t cost_ns) {
    for (int i = 0; i < 512; ++i) {
      schedule_.drawn(cost_ns);
    }
  }

  RefreshSchedule schedule_;
};

TEST_F(RefreshScheduleTest, ChoosesAtOnceWithoutKnownRefreshes) {
  EXPECT_EQ(schedule_.choice_ns({}, 12'345), 12'345);
}

TEST_F(RefreshScheduleTest, ChoosesAsLateAsDrawingAllows) {
  cost(3 * ns_per_ms);
  const std::int64_t now_ns = 10 * period_ns + ns_per_ms;
  EXPECT_EQ(choice_ns(now_ns), 11 * period_ns - 4 * ns_per_ms);
  EXPECT_EQ(choice_ns(11 * period_ns - 4 * ns_per_ms + 300), 11 * period_ns - 4 * ns_per_ms) << "a little late: now";
}

TEST_F(RefreshScheduleTest, WaitsForTheRefreshAfterTheNextIfThatCannotBeReached) {
  cost(3 * ns_per_ms);
  EXPECT_EQ(choice_ns(11 * period_ns - 2 * ns_per_ms), 12 * period_ns - 4 * ns_per_ms);
}

TEST_F(RefreshScheduleTest, ChoosesOnceForEachRefresh) {
  cost(3 * ns_per_ms);
  const std::int64_t choice = choice_ns(10 * period_ns + 1);
  ASSERT_LE(choice_ns(choice), choice);
  schedule_.choice_made();
  EXPECT_EQ(choice_ns(choice + ns_per_ms), 12 * period_ns - 4 * ns_per_ms);
}

TEST_F(RefreshScheduleTest, DrawsWithoutABreakIfDrawingTakesLongerThanAPeriod) {
  cost(2 * period_ns);
  EXPECT_EQ(schedule_.lead_for(period_ns), period_ns * 9 / 10);
  const std::int64_t now_ns = 10 * period_ns + period_ns / 20;
  EXPECT_LE(choice_ns(now_ns), now_ns + period_ns / 10);
}

TEST_F(RefreshScheduleTest, TakesThe95thPercentileOfTheCosts) {
  for (int i = 0; i < 512; ++i) {
    schedule_.drawn(i < 20 ? 9 * ns_per_ms : 2 * ns_per_ms);
  }
  EXPECT_EQ(schedule_.lead_for(period_ns), 2 * ns_per_ms + RefreshSchedule::guard_ns);
  cost(ns_per_ms / 2);
  EXPECT_EQ(schedule_.lead_for(period_ns), 2 * ns_per_ms + RefreshSchedule::guard_ns) << "no large fall";
  cost(6 * ns_per_ms);
  EXPECT_EQ(schedule_.lead_for(period_ns), 6 * ns_per_ms + RefreshSchedule::guard_ns);
  cost(ns_per_ms / 2);
  EXPECT_EQ(schedule_.lead_for(period_ns), ns_per_ms / 2 + RefreshSchedule::guard_ns);
}

/// A frame that comes between two refreshes is chosen for the next, and none is missed or doubled.
TEST_F(RefreshScheduleTest, OneChoiceForEveryRefreshOfAMinute) {
  cost(5 * ns_per_ms);
  std::int64_t now_ns = period_ns * 100;
  std::int64_t last_target = 0;
  for (int i = 0; i < 3600; ++i) {
    const std::int64_t choice = choice_ns(now_ns);
    now_ns = std::max(now_ns, choice) + 100 * ns_per_us;  // woken up late
    ASSERT_LE(choice_ns(now_ns), now_ns);
    const std::int64_t target = (now_ns / period_ns + 1) * period_ns;
    if (i > 0) {
      ASSERT_EQ(target - last_target, period_ns) << i;
    }
    last_target = target;
    schedule_.choice_made();
    now_ns = target + 10 * ns_per_us;  // a swap that waits for the refresh
  }
}

}  // namespace
}  // namespace framewire
