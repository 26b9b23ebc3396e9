// Frames between the thread that receives them and the one that draws them.
#include "viewer/frame_queue.hpp"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <random>
#include <thread>
#include <utility>
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

// ---- By presentation time ----

constexpr std::int64_t frame_period_ns = 16'666'667;

class PacedFrameQueueTest : public FrameQueueTest {
 protected:
  explicit PacedFrameQueueTest(FrameSelection rule = FrameSelection::paced) { use(rule); }

  /// The frame `number` of a stream of 60 frames per second arrives without jitter.
  static std::int64_t arrival_ns(std::int64_t number) { return ns_per_s + number * frame_period_ns; }
  void arrive(std::int64_t number) {
    arrive({.sequence = static_cast<std::uint64_t>(number),
            .pts_ns = number * frame_period_ns,
            .received_ns = arrival_ns(number)});
  }
  void arrive(const FrameMaker::Arrival& arrival) {
    statistics_.frame_received(1, arrival.received_ns);
    queue_.push(frames_.make(arrival));
  }

  [[nodiscard]] std::int64_t delay_ns() const { return queue_.pacing()->delay_ns; }
  /// When the frame `number` is due.
  [[nodiscard]] std::int64_t time_ns(std::int64_t number) const { return arrival_ns(number) + delay_ns(); }

  /// Shows the frame that is due at `now_ns`. Returns its number, or 0 if none is.
  std::uint64_t show_at(std::int64_t now_ns) {
    const auto frame = queue_.take(now_ns);
    show();
    return frame ? frame->header().sequence : 0;
  }

  void expect_each_frame_is_counted() const {
    const ViewerCounts counts = statistics_.counts();
    EXPECT_EQ(counts.frames_received, counts.frames_shown + counts.frames_superseded);
    EXPECT_EQ(frames_.returned().size(), counts.frames_received) << "somebody still has a frame";
  }
};

class FrameQueueOfBothPacedRules : public PacedFrameQueueTest, public testing::WithParamInterface<FrameSelection> {
 protected:
  FrameQueueOfBothPacedRules() : PacedFrameQueueTest(GetParam()) {}

  /// A frame with this presentation time follows some usual ones. It is shown in time, and the stream ends.
  void expect_no_longer_delay(std::int64_t pts_ns) {
    for (const std::int64_t number : {1, 2, 3}) {
      arrive(number);
      show_at(time_ns(number));
    }
    arrive({.sequence = 4, .pts_ns = pts_ns, .received_ns = arrival_ns(4)});
    EXPECT_LE(queue_.due_ns(), time_ns(4)) << pts_ns;
    queue_.close();
    EXPECT_FALSE(queue_.is_done());
    EXPECT_EQ(show_at(time_ns(4)), 4U) << pts_ns;
    EXPECT_TRUE(queue_.is_done());
    expect_each_frame_is_counted();
  }
};

INSTANTIATE_TEST_SUITE_P(Rules, FrameQueueOfBothPacedRules,
                         testing::Values(FrameSelection::paced, FrameSelection::paced_every), [](const auto& rule) {
                           return rule.param == FrameSelection::paced ? "paced" : "paced_every";
                         });

TEST_F(PacedFrameQueueTest, TakesTheNewestThatIsDueAndSupersedesTheOlderOnes) {
  for (const std::int64_t number : {1, 2, 3, 4}) {
    arrive(number);
  }
  EXPECT_EQ(show_at(time_ns(3)), 3U);
  EXPECT_EQ(superseded(), 2U);
  EXPECT_EQ(frames_.returned(), (std::vector<std::uint64_t>{1, 2, 3}));
  EXPECT_EQ(show_at(time_ns(3)), 0U) << "the fourth is not due";
  EXPECT_EQ(show_at(time_ns(4)), 4U);
  expect_each_frame_is_counted();
}

TEST_F(PacedFrameQueueTest, UnderPacedEveryTakesOneDueFrameAtATime) {
  use(FrameSelection::paced_every);
  for (const std::int64_t number : {1, 2, 3, 4}) {
    arrive(number);
  }
  for (const std::uint64_t expected : {1U, 2U, 3U, 0U}) {
    EXPECT_EQ(show_at(time_ns(3)), expected);
  }
  EXPECT_EQ(show_at(time_ns(4)), 4U);
  EXPECT_EQ(superseded(), 0U);
}

TEST_P(FrameQueueOfBothPacedRules, SaysWhenTheFirstFrameIsDue) {
  EXPECT_FALSE(queue_.due_ns());
  arrive(1);
  arrive(2);
  EXPECT_EQ(queue_.due_ns(), time_ns(1));
  EXPECT_EQ(show_at(time_ns(1) - PlayoutSchedule::early_ns - 1), 0U);
  EXPECT_EQ(show_at(time_ns(1) - PlayoutSchedule::early_ns), 1U);
  EXPECT_EQ(queue_.due_ns(), time_ns(2));
  use(FrameSelection::newest);
  EXPECT_LE(queue_.due_ns(), 0) << "at once";
  EXPECT_FALSE(queue_.pacing());
}

TEST_F(PacedFrameQueueTest, UnderPacedEveryHasRoomAgainWhenOneOfManyIsTaken) {
  use(FrameSelection::paced_every);
  for (std::int64_t number = 1; queue_.has_room(); ++number) {
    ASSERT_LE(number, 8);
    arrive(number);
  }
  EXPECT_EQ(rooms_, 0);
  EXPECT_EQ(show_at(time_ns(1)), 1U);
  EXPECT_EQ(rooms_, 1);
  EXPECT_TRUE(queue_.has_room());
  EXPECT_EQ(show_at(time_ns(2)), 2U);
  EXPECT_EQ(rooms_, 1) << "it had room";
}

TEST_F(PacedFrameQueueTest, SupersedesTheOldestOfTooMany) {
  queue_.set_ring(3, frame_period_ns);
  for (const std::int64_t number : {1, 2, 3}) {
    arrive(number);
  }
  EXPECT_EQ(frames_.returned(), (std::vector<std::uint64_t>{1}));
  EXPECT_EQ(superseded(), 1U);
  use(FrameSelection::paced_every);
  EXPECT_FALSE(queue_.has_room()) << "two wait, one is for the drawing";
}

/// Without a wait for their time, all but the newest would be of no use.
TEST_F(PacedFrameQueueTest, SupersedesAllThatWaitedWhenFramesAreNoLongerPaced) {
  for (std::int64_t number = 1; number <= 8; ++number) {
    arrive(number);
  }
  EXPECT_EQ(superseded(), 0U);
  use(FrameSelection::newest);
  arrive(9);
  EXPECT_EQ(superseded(), 8U);
  EXPECT_EQ(show_at(0), 9U);
  expect_each_frame_is_counted();
}

TEST_F(PacedFrameQueueTest, SupersedesFramesWhoseTimeIsLongOverButKeepsTheNewest) {
  EXPECT_EQ(queue_.supersede_overdue(INT64_MAX), INT64_MAX);
  for (const std::int64_t number : {1, 2, 3}) {
    arrive(number);
  }
  const std::int64_t first_ns = queue_.supersede_overdue(time_ns(1));
  EXPECT_GT(first_ns, time_ns(1)) << "the drawing thread may only be a little late";
  EXPECT_EQ(queue_.supersede_overdue(first_ns - 1), first_ns);
  EXPECT_EQ(superseded(), 0U);
  const std::int64_t second_ns = queue_.supersede_overdue(first_ns);
  EXPECT_EQ(second_ns - first_ns, frame_period_ns);
  EXPECT_EQ(frames_.returned(), (std::vector<std::uint64_t>{1}));
  EXPECT_EQ(queue_.supersede_overdue(second_ns), INT64_MAX);
  EXPECT_EQ(queue_.supersede_overdue(second_ns + 3600 * ns_per_s), INT64_MAX);
  EXPECT_EQ(superseded(), 2U);
  EXPECT_EQ(show_at(second_ns), 3U);
  expect_each_frame_is_counted();
}

TEST_F(PacedFrameQueueTest, SupersedesOverdueFramesUnderNoOtherRule) {
  use(FrameSelection::paced_every);
  arrive(1);
  arrive(2);
  for (const FrameSelection rule : {FrameSelection::paced_every, FrameSelection::every, FrameSelection::newest}) {
    use(rule);
    EXPECT_EQ(queue_.supersede_overdue(INT64_MAX), INT64_MAX);
    EXPECT_EQ(superseded(), 0U);
  }
}

/// One of three slots is for the frame that is drawn, one for the next that arrives.
TEST_F(PacedFrameQueueTest, OfThreeSlotsNoFrameWaitsLongerThanOnePeriod) {
  for (std::int64_t i = 1; i <= 300; ++i) {
    arrive({.sequence = static_cast<std::uint64_t>(i),
            .pts_ns = i * frame_period_ns,
            .received_ns = arrival_ns(i) + (i % 2) * 40 * ns_per_ms});
  }
  EXPECT_GT(queue_.pacing()->jitter_ns, 30 * ns_per_ms);
  const std::int64_t unlimited_ns = delay_ns();
  queue_.set_ring(3, frame_period_ns);
  EXPECT_EQ(delay_ns(), frame_period_ns);
  queue_.set_ring(4, frame_period_ns);
  EXPECT_EQ(delay_ns(), 2 * frame_period_ns);
  queue_.set_ring(8, frame_period_ns);
  EXPECT_EQ(delay_ns(), unlimited_ns);
}

TEST_F(PacedFrameQueueTest, BearsAnyRing) {
  for (const std::uint32_t slots : {0U, 1U, 2U, 9U, UINT32_MAX}) {
    for (const std::int64_t period : {std::int64_t{0}, std::int64_t{1}, INT64_MAX, INT64_MIN}) {
      queue_.set_ring(slots, period);
      EXPECT_GE(delay_ns(), PlayoutSchedule::guard_ns);
      EXPECT_LE(delay_ns(), PlayoutSchedule::first_jitter_ns + PlayoutSchedule::guard_ns);
      arrive(1);
      EXPECT_TRUE(queue_.has_frame());
    }
  }
}

/// Those of the new ones are 30 ms behind, as if each frame came so much later.
TEST_P(FrameQueueOfBothPacedRules, PresentationTimesBeginAnewWithASessionAndWithAFormat) {
  std::int64_t number = 1;
  for (const auto& [session, epoch] : {std::pair{1U, 1U}, std::pair{2U, 1U}, std::pair{2U, 2U}}) {
    const std::int64_t behind_ns = (session + epoch) * 30 * ns_per_ms;
    for (int i = 0; i < 100; ++i, ++number) {
      arrive({.sequence = static_cast<std::uint64_t>(number),
              .pts_ns = number * frame_period_ns - behind_ns,
              .received_ns = arrival_ns(number),
              .epoch = epoch,
              .session = session});
      ASSERT_EQ(queue_.due_ns(), time_ns(number)) << "session " << session << ", epoch " << epoch;
      ASSERT_EQ(show_at(time_ns(number)), static_cast<std::uint64_t>(number));
    }
  }
}

TEST_P(FrameQueueOfBothPacedRules, APresentationTimeInAnHourDelaysNoFrame) {
  expect_no_longer_delay(3600 * ns_per_s);
}

TEST_P(FrameQueueOfBothPacedRules, NorDoesTheLastOneThereIs) {
  expect_no_longer_delay(INT64_MAX);
}

TEST_P(FrameQueueOfBothPacedRules, NorDoesTheFirstOneThereIs) {
  expect_no_longer_delay(INT64_MIN);
}

TEST_P(FrameQueueOfBothPacedRules, EndsThoughAllFramesHavePresentationTimesInAnHour) {
  for (const std::int64_t number : {1, 2, 3}) {
    arrive({.sequence = static_cast<std::uint64_t>(number),
            .pts_ns = number == 2 ? INT64_MAX : 3600 * ns_per_s,
            .received_ns = arrival_ns(number)});
  }
  queue_.close();
  while (show_at(time_ns(3)) != 0) {
  }
  EXPECT_TRUE(queue_.is_done());
  expect_each_frame_is_counted();
}

/// Whatever comes in whatever order.
TEST_F(PacedFrameQueueTest, CountsEveryFrameOnce) {
  std::mt19937_64 random(1);
  const auto below = [&](std::uint64_t limit) { return static_cast<std::int64_t>(random() % limit); };
  constexpr std::array rules = {FrameSelection::paced, FrameSelection::paced_every, FrameSelection::newest,
                                FrameSelection::newest_two, FrameSelection::every};
  for (std::int64_t number = 1; number <= 20'000; ++number) {
    if (queue_.has_room()) {
      arrive({.sequence = static_cast<std::uint64_t>(number),
              .pts_ns = below(50) == 0 ? static_cast<std::int64_t>(random()) : number * frame_period_ns,
              .received_ns = arrival_ns(number) + below(30 * ns_per_ms),
              .session = 1 + static_cast<std::uint64_t>(number) / 5000});
    }
    if (below(2) == 0) {
      show_at(arrival_ns(number) + below(60 * ns_per_ms));
    }
    if (below(50) == 0) {
      queue_.supersede_overdue(arrival_ns(number) + below(ns_per_s));
    }
    if (below(200) == 0) {
      use(below(2) == 0 ? rules.at(static_cast<std::size_t>(below(rules.size()))) : FrameSelection::paced);
      queue_.set_ring(static_cast<std::uint32_t>(below(12)), frame_period_ns);
    }
  }
  EXPECT_GT(statistics_.counts().frames_shown, 1000U);
  EXPECT_GT(superseded(), 1000U);
  queue_.abandon();
  expect_each_frame_is_counted();
}

TEST_P(FrameQueueOfBothPacedRules, TwoThreadsLoseNoFrame) {
  constexpr std::int64_t count = 20'000;
  std::atomic<std::int64_t> now_ns = 0;
  std::thread drawing([&] {
    while (!queue_.is_done()) {
      show_at(now_ns);
    }
  });
  for (std::int64_t number = 1; number <= count; ++number) {
    while (!queue_.has_room()) {
      std::this_thread::yield();
    }
    now_ns = arrival_ns(number);
    arrive(number);
    queue_.supersede_overdue(now_ns);
  }
  now_ns = INT64_MAX;
  queue_.close();
  drawing.join();
  EXPECT_EQ(statistics_.counts().frames_received, static_cast<std::uint64_t>(count));
  EXPECT_GT(statistics_.counts().frames_shown, 0U);
  expect_each_frame_is_counted();
}

}  // namespace
}  // namespace framewire
