// Frames that are shown by their tags: FrameQueue::show_by_tag().
#include <gtest/gtest.h>

#include <vector>

#include "tests/viewer/received_frames.hpp"
#include "viewer/frame_queue.hpp"

namespace framewire {
namespace {

class TaggedFrames : public testing::Test {
 protected:
  TaggedFrames() {
    queue_.show_by_tag(true);
    queue_.set_ring(3, 0);
  }

  void push(std::uint64_t sequence, std::uint64_t tag) {
    queue_.push(frames_.make(FrameMaker::Arrival{.sequence = sequence, .user_tag = tag}));
  }
  void show() {
    queue_.settle([this] { statistics_.frame_shown({}, {}, 0); });
  }
  [[nodiscard]] std::uint64_t superseded() const { return statistics_.counts().frames_superseded; }

  FrameMaker frames_;
  Statistics statistics_;
  FrameQueue queue_{statistics_, FrameSelection::newest, {.on_frame = [] {}, .on_room = [] {}, .on_done = [] {}}};
};

TEST_F(TaggedFrames, AreShownIfTheyAreChosen) {
  queue_.set_rule(FrameSelection::every);
  for (const std::uint64_t tag : {50ULL, 51ULL, 52ULL}) {
    EXPECT_TRUE(queue_.has_room());
    push(tag - 40, tag);
  }
  EXPECT_EQ(frames_.returned(), (std::vector<std::uint64_t>{10})) << "the newest two wait";
  const FrameQueue::Tags tags = queue_.tags();
  EXPECT_EQ(std::vector(tags.all().begin(), tags.all().end()), (std::vector<std::uint64_t>{51, 52}));
  EXPECT_FALSE(queue_.due_ns());
  EXPECT_FALSE(queue_.take());
  queue_.choose(50);
  EXPECT_FALSE(queue_.take()) << "it has gone";
  queue_.choose(52);
  EXPECT_EQ(queue_.due_ns(), 0);
  const auto frame = queue_.take();
  ASSERT_TRUE(frame);
  EXPECT_EQ(frame->header().user_tag, 52U);
  show();
  EXPECT_EQ(superseded(), 2U) << "the one before was never chosen";
  EXPECT_FALSE(queue_.take());
}

TEST_F(TaggedFrames, StayIfTheyAreChosenThoughNewerOnesCome) {
  push(1, 6);
  push(2, 7);
  queue_.choose(7);
  for (std::uint64_t i = 3; i < 9; ++i) {
    push(i, i + 5);
  }
  EXPECT_EQ(frames_.returned(), (std::vector<std::uint64_t>{1, 3, 4, 5, 6}));
  const auto frame = queue_.take();
  ASSERT_TRUE(frame);
  EXPECT_EQ(frame->header().user_tag, 7U);
  show();
  EXPECT_EQ(queue_.tags().all().size(), 2U);
}

TEST_F(TaggedFrames, WaitInAllSlotsButOne) {
  queue_.set_ring(6, 0);
  for (std::uint64_t i = 1; i < 8; ++i) {
    push(i, i);
  }
  EXPECT_EQ(frames_.returned(), (std::vector<std::uint64_t>{1, 2}));
}

TEST_F(TaggedFrames, AreNotWaitedForAtTheEnd) {
  push(1, 7);
  queue_.close();
  EXPECT_TRUE(queue_.is_done());
  EXPECT_EQ(superseded(), 1U);
}

TEST_F(TaggedFrames, AreShownAtTheEndIfTheyAreChosen) {
  push(1, 6);
  push(2, 7);
  queue_.choose(7);
  queue_.close();
  EXPECT_FALSE(queue_.is_done()) << "the drawing thread has not taken it yet";
  EXPECT_EQ(superseded(), 1U);
  const auto frame = queue_.take();
  ASSERT_TRUE(frame);
  EXPECT_EQ(frame->header().user_tag, 7U);
  show();
  EXPECT_TRUE(queue_.is_done());
}

TEST_F(TaggedFrames, HoldNoCreditIfNobodyHasAskedForThem) {
  queue_.show_by_tag(false);
  push(1, 0);
  EXPECT_TRUE(frames_.returned().empty());
  queue_.show_by_tag(true);
  EXPECT_EQ(frames_.returned(), (std::vector<std::uint64_t>{1}));
  push(2, 0);
  EXPECT_EQ(frames_.returned(), (std::vector<std::uint64_t>{1, 2}));
  EXPECT_EQ(superseded(), 2U);
  EXPECT_FALSE(queue_.has_frame());
}

TEST_F(TaggedFrames, LeaveASlotForTheNextFrame) {
  queue_.set_ring(2, 0);
  push(1, 7);
  EXPECT_TRUE(frames_.returned().empty());
  push(2, 8);
  EXPECT_EQ(frames_.returned(), (std::vector<std::uint64_t>{1}));
}

TEST_F(TaggedFrames, AreGivenUpIfNobodyChoosesThem) {
  push(1, 7);
  push(2, 8);
  queue_.give_up(7);
  queue_.give_up(9);
  EXPECT_EQ(frames_.returned(), (std::vector<std::uint64_t>{1}));
  const std::int64_t next_ns = queue_.supersede_overdue(0);
  ASSERT_NE(next_ns, INT64_MAX);
  EXPECT_EQ(frames_.returned().size(), 1U);
  EXPECT_EQ(queue_.supersede_overdue(next_ns), INT64_MAX);
  EXPECT_EQ(frames_.returned(), (std::vector<std::uint64_t>{1, 2}));
  EXPECT_EQ(superseded(), 2U);
}

TEST_F(TaggedFrames, StayChosenIfTagsAreWantedAgain) {
  push(1, 7);
  queue_.choose(7);
  queue_.show_by_tag(true);
  EXPECT_TRUE(queue_.take());
  show();
}

TEST_F(TaggedFrames, AreAfterwardsShownByTheRuleThatWasGivenMeanwhile) {
  queue_.set_rule(FrameSelection::every);
  push(1, 7);
  EXPECT_FALSE(queue_.take());
  queue_.show_by_tag(false);
  EXPECT_TRUE(queue_.tags().all().empty());
  EXPECT_EQ(queue_.take()->header().sequence, 1U);
  show();
  push(2, 0);
  EXPECT_FALSE(queue_.has_room());
}

}  // namespace
}  // namespace framewire
