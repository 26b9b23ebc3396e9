#include "viewer/pacing.hpp"

#include <gtest/gtest.h>

#include <deque>
#include <memory>
#include <vector>

namespace framewire {
namespace {

/// Frames are numbers that can only be moved, as the real ones.
using Frame = std::unique_ptr<int>;

class PacingTest : public testing::Test {
 protected:
  void arrive(std::initializer_list<int> numbers) {
    for (const int number : numbers) {
      ring_.push_back(number);
    }
  }

  void drain(Pacing<Frame>& pacing, std::int64_t ns_per_frame = 0) {
    pacing.drain(
        [&]() -> std::optional<Frame> {
          if (ring_.empty()) {
            return std::nullopt;
          }
          const int number = ring_.front();
          ring_.pop_front();
          clock_.advance_to_ns(clock_.now_ns() + ns_per_frame);
          return std::make_unique<int>(number);
        },
        [&](Frame& frame) { superseded_.push_back(*frame); });
  }

  static int take(Pacing<Frame>& pacing) {
    const auto frame = pacing.take();
    return frame ? **frame : -1;
  }

  VirtualClock clock_;
  std::deque<int> ring_;
  std::vector<int> superseded_;
};

TEST_F(PacingTest, HasNothingToShowAtFirst) {
  Pacing<Frame> pacing(clock_, PacingRule::newest);
  drain(pacing);
  EXPECT_FALSE(pacing.has_frame());
  EXPECT_EQ(take(pacing), -1);
}

TEST_F(PacingTest, ShowsTheNewestAndSupersedesTheOlderOnesInOrder) {
  Pacing<Frame> pacing(clock_, PacingRule::newest);
  arrive({1, 2, 3});
  drain(pacing);
  EXPECT_EQ(superseded_, (std::vector{1, 2}));
  EXPECT_EQ(take(pacing), 3);
  EXPECT_FALSE(pacing.has_frame());
}

TEST_F(PacingTest, SupersedesAFrameThatWaitedForTheDrawing) {
  Pacing<Frame> pacing(clock_, PacingRule::newest);
  arrive({1});
  drain(pacing);
  arrive({2});
  drain(pacing);
  EXPECT_EQ(superseded_, (std::vector{1}));
  EXPECT_EQ(take(pacing), 2);
}

TEST_F(PacingTest, ShowsEveryFrameInTurnAndLeavesTheRestInTheRing) {
  Pacing<Frame> pacing(clock_, PacingRule::every);
  arrive({1, 2, 3});
  drain(pacing);
  EXPECT_EQ(ring_.size(), 2U);
  drain(pacing);
  EXPECT_EQ(ring_.size(), 2U);
  EXPECT_EQ(take(pacing), 1);
  drain(pacing);
  EXPECT_EQ(take(pacing), 2);
  EXPECT_TRUE(superseded_.empty());
}

TEST_F(PacingTest, StopsTakingInSoThatAFastSenderCannotStarveThePicture) {
  Pacing<Frame> pacing(clock_, PacingRule::newest);
  for (int i = 0; i < 1000; ++i) {
    ring_.push_back(i);
  }
  drain(pacing, ns_per_ms);
  EXPECT_EQ(ring_.size(), 1000U - static_cast<std::size_t>(Pacing<Frame>::longest_drain_ns / ns_per_ms));
  EXPECT_EQ(take(pacing), 3);
  EXPECT_EQ(superseded_, (std::vector{0, 1, 2}));
}

TEST_F(PacingTest, NearlyNewestShowsBothOfTwo) {
  Pacing<Frame> pacing(clock_, PacingRule::nearly_newest);
  arrive({1, 2});
  drain(pacing);
  EXPECT_EQ(take(pacing), 1);
  EXPECT_TRUE(pacing.has_frame());
  EXPECT_EQ(take(pacing), 2);
  EXPECT_FALSE(pacing.has_frame());
  EXPECT_TRUE(superseded_.empty());
}

TEST_F(PacingTest, NearlyNewestGoesToTheNewestOfMore) {
  Pacing<Frame> pacing(clock_, PacingRule::nearly_newest);
  arrive({1, 2, 3});
  drain(pacing);
  EXPECT_EQ(superseded_, (std::vector{1, 2}));
  EXPECT_EQ(take(pacing), 3);
  EXPECT_EQ(take(pacing), -1);
}

TEST_F(PacingTest, NearlyNewestKeepsTheOrderWhenOneMoreComesBetween) {
  Pacing<Frame> pacing(clock_, PacingRule::nearly_newest);
  arrive({1, 2});
  drain(pacing);
  EXPECT_EQ(take(pacing), 1);
  arrive({3});
  drain(pacing);
  EXPECT_EQ(take(pacing), 2);
  EXPECT_EQ(take(pacing), 3);
  EXPECT_TRUE(superseded_.empty());
}

TEST_F(PacingTest, ChangesItsRuleWithoutLosingAFrame) {
  Pacing<Frame> pacing(clock_, PacingRule::nearly_newest);
  arrive({1, 2, 3});
  drain(pacing);
  arrive({4});
  drain(pacing);
  pacing.set_rule(PacingRule::every);
  arrive({5});
  drain(pacing);
  EXPECT_EQ(take(pacing), 3);
  EXPECT_EQ(take(pacing), 4);
  drain(pacing);
  EXPECT_EQ(take(pacing), 5);
  EXPECT_EQ(superseded_, (std::vector{1, 2}));
}

TEST_F(PacingTest, LosesNoFrameOfALongRun) {
  Pacing<Frame> pacing(clock_, PacingRule::newest);
  std::size_t shown = 0;
  for (int i = 0; i < 500; ++i) {
    for (int burst = 0; burst < i % 4; ++burst) {
      ring_.push_back(i);
    }
    drain(pacing);
    if (pacing.take()) {
      ++shown;
    }
  }
  EXPECT_EQ(shown, 375U);
  EXPECT_EQ(shown + superseded_.size(), 125U * (1 + 2 + 3));
}

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
