#include "viewer/redraw_schedule.hpp"

#include <gtest/gtest.h>

namespace framewire {
namespace {

TEST(RedrawSchedule, DrawsFirstAfterTheDelay) {
  VirtualClock clock;
  RedrawSchedule schedule(clock, 300 * ns_per_ms);
  EXPECT_FALSE(schedule.is_due());
  clock.advance_to_ns(300 * ns_per_ms);
  EXPECT_TRUE(schedule.is_due());
}

TEST(RedrawSchedule, RestsUntilItIsAskedWhenNothingMoves) {
  VirtualClock clock;
  RedrawSchedule schedule(clock, 0);
  schedule.drawn(ns_per_ms, RedrawSchedule::never_ns);
  clock.advance_to_ns(3600 * ns_per_s);
  EXPECT_FALSE(schedule.is_due());
  schedule.request();
  EXPECT_TRUE(schedule.is_due());
}

TEST(RedrawSchedule, PutsOffWhatCanWaitButNeverWhatIsDueEarlier) {
  VirtualClock clock;
  RedrawSchedule schedule(clock, 100 * ns_per_ms);
  schedule.request_within(300 * ns_per_ms);
  EXPECT_EQ(schedule.due_ns(), 100 * ns_per_ms);
  schedule.drawn(0, RedrawSchedule::never_ns);
  schedule.request_within(300 * ns_per_ms);
  EXPECT_EQ(schedule.due_ns(), 300 * ns_per_ms);
}

TEST(RedrawSchedule, MovesInTheStepsAskedForWhenDrawingIsCheap) {
  VirtualClock clock;
  RedrawSchedule schedule(clock, 0);
  schedule.drawn(100 * ns_per_us, 33 * ns_per_ms);
  EXPECT_EQ(schedule.due_ns(), 33 * ns_per_ms);
}

TEST(RedrawSchedule, SpendsLessThanOnePercentOfACoreWhenDrawingIsDear) {
  VirtualClock clock;
  RedrawSchedule schedule(clock, 0);
  schedule.drawn(4 * ns_per_ms, 33 * ns_per_ms);
  EXPECT_EQ(schedule.due_ns(), 33 * ns_per_ms) << "one alone may be an exception";
  schedule.drawn(4 * ns_per_ms, 33 * ns_per_ms);
  EXPECT_GE(schedule.due_ns(), 400 * ns_per_ms);
  clock.advance_to_ns(schedule.due_ns());
  EXPECT_TRUE(schedule.is_due());
}

TEST(RedrawSchedule, StillMovesNowAndThenWhenDrawingIsVeryDear) {
  VirtualClock clock;
  RedrawSchedule schedule(clock, 0);
  schedule.drawn(2 * ns_per_s, 33 * ns_per_ms);
  schedule.drawn(2 * ns_per_s, 33 * ns_per_ms);
  EXPECT_EQ(schedule.due_ns(), RedrawSchedule::longest_step_ns);
}

}  // namespace
}  // namespace framewire
