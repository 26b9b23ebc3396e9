#include "viewer/frame_selector.hpp"

#include <gtest/gtest.h>

#include <deque>
#include <memory>
#include <vector>

namespace framewire {
namespace {

/// Frames are move-only numbers, since real frames are move-only too.
using Frame = std::unique_ptr<int>;

class FrameSelectorTest : public testing::Test {
 protected:
  void arrive(std::initializer_list<int> numbers) {
    for (const int number : numbers) {
      ring_.push_back(number);
    }
  }

  void drain(FrameSelector<Frame>& selector) {
    while (!ring_.empty() && selector.has_room()) {
      selector.push(std::make_unique<int>(ring_.front()), [&](Frame&& frame) { superseded_.push_back(*frame); });
      ring_.pop_front();
    }
  }

  static int take(FrameSelector<Frame>& selector) {
    const auto frame = selector.pop();
    return frame ? **frame : -1;
  }

  std::deque<int> ring_;
  std::vector<int> superseded_;
};

TEST_F(FrameSelectorTest, HasNothingToShowAtFirst) {
  FrameSelector<Frame> selector(FrameSelection::newest);
  drain(selector);
  EXPECT_FALSE(selector.has_frame());
  EXPECT_EQ(take(selector), -1);
}

TEST_F(FrameSelectorTest, ShowsTheNewestAndSupersedesTheOlderOnesInOrder) {
  FrameSelector<Frame> selector(FrameSelection::newest);
  arrive({1, 2, 3});
  drain(selector);
  EXPECT_EQ(superseded_, (std::vector{1, 2}));
  EXPECT_EQ(take(selector), 3);
  EXPECT_FALSE(selector.has_frame());
}

TEST_F(FrameSelectorTest, SupersedesAFrameThatWaitedForTheDrawing) {
  FrameSelector<Frame> selector(FrameSelection::newest);
  arrive({1});
  drain(selector);
  arrive({2});
  drain(selector);
  EXPECT_EQ(superseded_, (std::vector{1}));
  EXPECT_EQ(take(selector), 2);
}

TEST_F(FrameSelectorTest, ShowsEveryFrameInTurnAndLeavesTheRestInTheRing) {
  FrameSelector<Frame> selector(FrameSelection::every);
  arrive({1, 2, 3});
  drain(selector);
  EXPECT_EQ(ring_.size(), 2U);
  drain(selector);
  EXPECT_EQ(ring_.size(), 2U);
  EXPECT_EQ(take(selector), 1);
  drain(selector);
  EXPECT_EQ(take(selector), 2);
  EXPECT_TRUE(superseded_.empty());
}

TEST_F(FrameSelectorTest, NearlyNewestShowsBothOfTwo) {
  FrameSelector<Frame> selector(FrameSelection::newest_two);
  arrive({1, 2});
  drain(selector);
  EXPECT_EQ(take(selector), 1);
  EXPECT_TRUE(selector.has_frame());
  EXPECT_EQ(take(selector), 2);
  EXPECT_FALSE(selector.has_frame());
  EXPECT_TRUE(superseded_.empty());
}

TEST_F(FrameSelectorTest, NearlyNewestGoesToTheNewestOfMore) {
  FrameSelector<Frame> selector(FrameSelection::newest_two);
  arrive({1, 2, 3});
  drain(selector);
  EXPECT_EQ(superseded_, (std::vector{1, 2}));
  EXPECT_EQ(take(selector), 3);
  EXPECT_EQ(take(selector), -1);
}

TEST_F(FrameSelectorTest, NearlyNewestKeepsTheOrderWhenOneMoreComesBetween) {
  FrameSelector<Frame> selector(FrameSelection::newest_two);
  arrive({1, 2});
  drain(selector);
  EXPECT_EQ(take(selector), 1);
  arrive({3});
  drain(selector);
  EXPECT_EQ(take(selector), 2);
  EXPECT_EQ(take(selector), 3);
  EXPECT_TRUE(superseded_.empty());
}

TEST_F(FrameSelectorTest, ChangesItsRuleWithoutLosingAFrame) {
  FrameSelector<Frame> selector(FrameSelection::newest_two);
  arrive({1, 2, 3});
  drain(selector);
  arrive({4});
  drain(selector);
  selector.set_rule(FrameSelection::every);
  arrive({5});
  drain(selector);
  EXPECT_EQ(take(selector), 3);
  EXPECT_EQ(take(selector), 4);
  drain(selector);
  EXPECT_EQ(take(selector), 5);
  EXPECT_EQ(superseded_, (std::vector{1, 2}));
}

constexpr std::size_t most_waiting = FrameSelector<Frame>::most_waiting;

TEST_F(FrameSelectorTest, UnderBothPacedRulesFramesWaitInOrder) {
  for (const FrameSelection rule : {FrameSelection::paced, FrameSelection::paced_every}) {
    FrameSelector<Frame> selector(rule);
    arrive({1, 2, 3});
    drain(selector);
    ASSERT_EQ(selector.size(), 3U);
    EXPECT_EQ(*selector.at(0), 1);
    EXPECT_EQ(*selector.at(2), 3);
    EXPECT_EQ(take(selector), 1);
    EXPECT_EQ(*selector.at(0), 2);
    arrive({4});
    drain(selector);
    for (const int expected : {2, 3, 4, -1}) {
      EXPECT_EQ(take(selector), expected);
    }
  }
  EXPECT_TRUE(superseded_.empty());
}

TEST_F(FrameSelectorTest, PacedSupersedesTheOldestOfTooMany) {
  FrameSelector<Frame> selector(FrameSelection::paced);
  arrive({1, 2, 3, 4, 5, 6, 7, 8, 9, 10});
  drain(selector);
  EXPECT_EQ(selector.size(), most_waiting);
  EXPECT_EQ(superseded_, (std::vector{1, 2}));
  EXPECT_EQ(take(selector), 3);
}

TEST_F(FrameSelectorTest, PacedEveryLeavesTooManyInTheRing) {
  FrameSelector<Frame> selector(FrameSelection::paced_every);
  arrive({1, 2, 3, 4, 5, 6, 7, 8, 9, 10});
  drain(selector);
  EXPECT_FALSE(selector.has_room());
  EXPECT_EQ(selector.size(), most_waiting);
  EXPECT_EQ(take(selector), 1);
  drain(selector);
  EXPECT_EQ(ring_, (std::deque{10}));
  EXPECT_TRUE(superseded_.empty());
}

TEST_F(FrameSelectorTest, FewerFramesOfASmallRingWait) {
  FrameSelector<Frame> paced(FrameSelection::paced);
  paced.set_most_waiting(2);
  arrive({1, 2, 3});
  drain(paced);
  EXPECT_EQ(superseded_, (std::vector{1}));
  EXPECT_EQ(paced.size(), 2U);
  FrameSelector<Frame> every(FrameSelection::paced_every);
  every.set_most_waiting(2);
  arrive({1, 2, 3});
  drain(every);
  EXPECT_EQ(every.size(), 2U);
  EXPECT_EQ(ring_, (std::deque{3}));
  every.set_most_waiting(3);
  EXPECT_TRUE(every.has_room());
}

TEST_F(FrameSelectorTest, AtLeastOneFrameWaitsAndAtMostAsManyAsThereIsRoomFor) {
  FrameSelector<Frame> selector(FrameSelection::paced);
  selector.set_most_waiting(0);
  arrive({1, 2});
  drain(selector);
  EXPECT_EQ(selector.size(), 1U);
  selector.set_most_waiting(1000);
  arrive({3, 4, 5, 6, 7, 8, 9, 10});
  drain(selector);
  EXPECT_EQ(selector.size(), most_waiting);
  EXPECT_EQ(superseded_, (std::vector{1, 2}));
}

/// As when a viewer comes back to a sender with fewer --slots.
TEST_F(FrameSelectorTest, WhatIsTooMuchForASmallerRingIsSuperseded) {
  FrameSelector<Frame> selector(FrameSelection::paced);
  arrive({1, 2, 3, 4, 5});
  drain(selector);
  selector.set_most_waiting(2);
  arrive({6});
  drain(selector);
  EXPECT_EQ(selector.size(), 2U);
  EXPECT_EQ(superseded_, (std::vector{1, 2, 3, 4}));
}

TEST_F(FrameSelectorTest, OfFramesThatWaitedWhilePacedOnlyTheNewestStaysForAnotherRule) {
  for (const FrameSelection rule : {FrameSelection::newest, FrameSelection::newest_two}) {
    superseded_.clear();
    FrameSelector<Frame> selector(FrameSelection::paced);
    arrive({1, 2, 3, 4, 5, 6, 7, 8});
    drain(selector);
    selector.set_rule(rule);
    arrive({9});
    drain(selector);
    EXPECT_EQ(superseded_, (std::vector{1, 2, 3, 4, 5, 6, 7, 8}));
    EXPECT_EQ(take(selector), 9);
    EXPECT_EQ(take(selector), -1);
  }
}

TEST_F(FrameSelectorTest, FramesThatWaitedWhilePacedAreShownInTurnUnderEvery) {
  FrameSelector<Frame> selector(FrameSelection::paced);
  arrive({1, 2, 3});
  drain(selector);
  selector.set_rule(FrameSelection::every);
  arrive({4});
  drain(selector);
  EXPECT_EQ(take(selector), 1);
  EXPECT_EQ(take(selector), 2);
  EXPECT_FALSE(selector.has_room()) << "one waits still";
  EXPECT_EQ(take(selector), 3);
  drain(selector);
  EXPECT_EQ(take(selector), 4);
  EXPECT_TRUE(superseded_.empty());
}

TEST_F(FrameSelectorTest, PacedTakesOverWhatWaitedUnderAnyRule) {
  for (const FrameSelection rule : {FrameSelection::newest_two, FrameSelection::every, FrameSelection::paced_every}) {
    FrameSelector<Frame> selector(rule);
    arrive({1, 2, 3});
    drain(selector);
    selector.set_rule(FrameSelection::paced);
    arrive({4});
    drain(selector);
    EXPECT_TRUE(ring_.empty());
    EXPECT_EQ(*selector.at(selector.size() - 1), 4);
  }
  EXPECT_EQ(superseded_, (std::vector{1, 2})) << "of the nearly newest, before the change";
}

TEST_F(FrameSelectorTest, LosesNoFrameOfALongRun) {
  FrameSelector<Frame> selector(FrameSelection::newest);
  std::size_t shown = 0;
  for (int i = 0; i < 500; ++i) {
    for (int burst = 0; burst < i % 4; ++burst) {
      ring_.push_back(i);
    }
    drain(selector);
    if (selector.pop()) {
      ++shown;
    }
  }
  EXPECT_EQ(shown, 375U);
  EXPECT_EQ(shown + superseded_.size(), 125U * (1 + 2 + 3));
}

}  // namespace
}  // namespace framewire
