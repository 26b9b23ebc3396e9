// Frames between the thread that receives them and the one that draws them.
#include "viewer/frame_queue.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

#include "tests/viewer/received_frames.hpp"

namespace framewire {
namespace {

class FrameQueueTest : public testing::Test {
 protected:
  void use(FrameSelection rule) { queue_.set_rule(rule); }
  void push(std::uint64_t sequence) { queue_.push(frames_.make(sequence)); }
  void show() {
    queue_.settle([this] { statistics_.frame_shown({}, {}, 0); });
  }
  [[nodiscard]] std::uint64_t superseded() const { return statistics_.counts().frames_superseded; }

  FrameMaker frames_;
  Statistics statistics_;
  std::atomic<int> news_ = 0;
  std::atomic<int> rooms_ = 0;
  std::atomic<int> ends_ = 0;
  FrameQueue queue_{statistics_,
                    FrameSelection::newest,
                    {.on_frame = [this] { ++news_; }, .on_room = [this] { ++rooms_; }, .on_done = [this] { ++ends_; }}};
};

TEST_F(FrameQueueTest, ReturnsTheCreditOfAFrameThatANewerOneReplacesThoughNobodyDraws) {
  push(1);
  push(2);
  EXPECT_EQ(frames_.returned(), (std::vector<std::uint64_t>{1}));
  EXPECT_EQ(superseded(), 1U);
  EXPECT_EQ(news_, 2);
  EXPECT_EQ(queue_.take()->header().sequence, 2U);
}

TEST_F(FrameQueueTest, UnderEveryHasRoomAgainWhenTheFrameIsTaken) {
  use(FrameSelection::every);
  EXPECT_TRUE(queue_.has_room());
  push(1);
  EXPECT_FALSE(queue_.has_room());
  EXPECT_EQ(rooms_, 0);
  EXPECT_TRUE(queue_.take());
  EXPECT_EQ(rooms_, 1);
  EXPECT_TRUE(queue_.has_room());
  EXPECT_FALSE(queue_.take());
  EXPECT_EQ(rooms_, 1);
}

TEST_F(FrameQueueTest, SupersedesAFrameThatNobodyTakesIfItIsTold) {
  use(FrameSelection::every);
  push(1);
  queue_.supersede_waiting();
  EXPECT_TRUE(queue_.has_room());
  EXPECT_EQ(superseded(), 1U);
}

TEST_F(FrameQueueTest, IsDoneWhenItIsClosedAndTheLastFrameIsSettled) {
  push(1);
  queue_.close();
  EXPECT_TRUE(queue_.is_closed());
  EXPECT_FALSE(queue_.is_done());
  const auto frame = queue_.take();
  EXPECT_FALSE(queue_.is_done());
  EXPECT_EQ(ends_, 1) << "it is closed";
  show();
  EXPECT_TRUE(queue_.is_done());
  EXPECT_EQ(ends_, 2);
  EXPECT_EQ(statistics_.counts().frames_shown, 1U);
}

TEST_F(FrameQueueTest, IsDoneAtOnceWithoutFrames) {
  queue_.close();
  EXPECT_TRUE(queue_.is_done());
  queue_.close();
  EXPECT_EQ(ends_, 1);
}

TEST_F(FrameQueueTest, CountsEveryFrameOnceThoughItIsGivenUpWhileItIsDrawn) {
  use(FrameSelection::newest_two);
  push(1);
  push(2);
  push(3);
  const auto frame = queue_.take();
  EXPECT_TRUE(queue_.abandon());
  EXPECT_FALSE(queue_.abandon());
  show();  // too late
  EXPECT_EQ(statistics_.counts().frames_shown, 0U);
  EXPECT_EQ(superseded(), 3U);
  EXPECT_TRUE(queue_.is_done());
}

TEST_F(FrameQueueTest, HandsOverSlicesOfTheNewestFrameOnly) {
  std::vector<ReceivedFrame> slices;
  queue_.push_slice(frames_.make_slice(1, 0, 4));
  queue_.push_slice(frames_.make_slice(1, 1, 4));
  queue_.push_slice(frames_.make_slice(2, 0, 4));
  queue_.push_slice(frames_.make_slice(2, 3, 4));
  queue_.take_slices(slices);
  ASSERT_EQ(slices.size(), 2U);
  EXPECT_EQ(slices[0].header().sequence, 2U);
  EXPECT_EQ(slices[1].header().slice, 3U);
  queue_.take_slices(slices);
  EXPECT_TRUE(slices.empty());
  queue_.push_slice(frames_.make_slice(2, 1, 4));
  queue_.take_slices(slices);
  EXPECT_EQ(slices.size(), 1U) << "the rest";
}

TEST_F(FrameQueueTest, DropsTheSlicesOfAFrameThatIsComplete) {
  std::vector<ReceivedFrame> slices;
  queue_.push_slice(frames_.make_slice(2, 0, 2));
  push(2);
  queue_.take_slices(slices);
  EXPECT_TRUE(slices.empty());
  queue_.push_slice(frames_.make_slice(3, 0, 2));
  queue_.take_slices(slices);
  EXPECT_EQ(slices.size(), 1U);
}

TEST_F(FrameQueueTest, TwoThreadsLoseNoFrame) {
  constexpr std::uint64_t count = 20'000;
  use(FrameSelection::newest_two);
  std::thread drawing([this] {
    while (!queue_.is_done()) {
      if (const auto frame = queue_.take()) {
        show();
      }
    }
  });
  for (std::uint64_t i = 1; i <= count; ++i) {
    statistics_.frame_received(1, 1);
    push(i);
  }
  queue_.close();
  drawing.join();
  const ViewerCounts counts = statistics_.counts();
  EXPECT_EQ(counts.frames_received, count);
  EXPECT_EQ(counts.frames_shown + counts.frames_superseded, count);
  EXPECT_GT(counts.frames_shown, 0U);
}

}  // namespace
}  // namespace framewire
