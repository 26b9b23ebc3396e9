// How many slots frames need that wait, and what the viewer says of a ring that has fewer.
#include "viewer/ring_shortage.hpp"

#include <gtest/gtest.h>

#include <deque>
#include <optional>
#include <random>

#include "tests/viewer/received_frames.hpp"
#include "viewer/frame_queue.hpp"

namespace framewire {
namespace {

constexpr std::int64_t period_ns = 16'666'667;
constexpr std::uint32_t most_useful = 9;  // FrameSelector::most_waiting and the one that is drawn

TEST(RingShortage, CountsSlotsForTheDelayAndTwoBeside) {
  EXPECT_FALSE(find_ring_shortage(3, most_useful, period_ns, period_ns));
  const auto shortage = find_ring_shortage(3, most_useful, period_ns, period_ns + 1);
  ASSERT_TRUE(shortage);
  EXPECT_EQ(shortage->needed, 4U);
  EXPECT_TRUE(shortage->would_do);
  EXPECT_EQ(shortage->allowed_ns, period_ns);
  for (std::uint32_t slots = 3; slots <= most_useful; ++slots) {
    const std::int64_t allowed_ns = longest_wait_ns(slots, most_useful, period_ns);
    EXPECT_FALSE(find_ring_shortage(slots, most_useful, period_ns, allowed_ns)) << slots;
    const auto one_less = find_ring_shortage(slots - 1, most_useful, period_ns, allowed_ns);
    EXPECT_EQ(one_less ? one_less->needed : slots, slots);
  }
}

TEST(RingShortage, NamesTheMostThatHelpIfNoNumberWouldDo) {
  const auto shortage = find_ring_shortage(3, most_useful, period_ns, ns_per_s);
  ASSERT_TRUE(shortage);
  EXPECT_EQ(shortage->needed, most_useful);
  EXPECT_FALSE(shortage->would_do);
  EXPECT_FALSE(find_ring_shortage(most_useful, most_useful, period_ns, ns_per_s)) << "more slots would not help";
  EXPECT_FALSE(find_ring_shortage(64, most_useful, period_ns, ns_per_s));
}

TEST(RingShortage, BearsAnyNumbers) {
  for (const std::uint32_t slots : {0U, 1U, 2U, UINT32_MAX}) {
    for (const std::int64_t period : {INT64_MIN, std::int64_t{0}, std::int64_t{1}, INT64_MAX}) {
      for (const std::int64_t wanted : {INT64_MIN, std::int64_t{0}, std::int64_t{1}, INT64_MAX}) {
        if (const auto shortage = find_ring_shortage(slots, most_useful, period, wanted)) {
          EXPECT_GT(shortage->needed, shortage->slots);
          EXPECT_LE(shortage->needed, most_useful);
        }
      }
    }
  }
}

TEST(RingShortage, IsSaidWithTheNumberThatWouldDo) {
  EXPECT_EQ(describe({.slots = 3, .needed = 4, .allowed_ns = 16'700'000, .wanted_ns = 31'000'000}, false),
            "frames need to wait 31.0 ms to be shown evenly, and --slots 3 of the sender allows 16.7 ms; start it with "
            "--slots 4");
  EXPECT_EQ(
      describe({.slots = 3, .needed = 9, .would_do = false, .allowed_ns = 4'000'000, .wanted_ns = 90'000'000}, true),
      "frames need to wait 90.0 ms to be shown with those of other streams, and --slots 3 of the sender allows "
      "4.0 ms; start it with --slots 9, the most that help");
}

/// A sender of 60 frames per second that sends only while a slot is free, and a screen of as many refreshes.
class UnevenWay {
 public:
  /// A frame is sent `before_ns` before a refresh. By a little: in time for one if it is not late.
  UnevenWay(std::uint32_t slots, std::int64_t jitter_ns, FrameSelection rule = FrameSelection::paced,
            std::int64_t before_ns = ns_per_ms)
      : slots_(slots), jitter_ns_(jitter_ns), before_ns_(before_ns), queue_(statistics_, rule, {[] {}, [] {}, [] {}}) {
    queue_.set_ring(slots, period_ns);
  }

  struct Result {
    int skipped = 0;   // by the sender, for want of a slot
    int repeated = 0;  // refreshes without a new frame
    int shown = 0;
  };

  Result run(int refreshes) {
    Result result;
    for (int i = 0; i < refreshes; ++i) {
      now_ns_ += period_ns;
      send(result);
      for (; !coming_.empty() && coming_.front().arrival_ns <= now_ns_; coming_.pop_front()) {
        arrive(coming_.front());
      }
      drawn_.reset();  // its slot is free when the next one is chosen
      drawn_ = queue_.take(now_ns_);
      queue_.settle([] {});
      (drawn_ ? result.shown : result.repeated) += 1;
    }
    return result;
  }

  FrameQueue& queue() { return queue_; }

 private:
  struct Sent {
    std::uint64_t number;
    std::int64_t arrival_ns;
  };

  /// A frame holds its slot from now on, also while it is on its way. They arrive in order.
  void send(Result& result) {
    const std::uint64_t number = ++number_;
    const std::int64_t sent_ns = now_ns_ - period_ns - before_ns_;
    if (on_their_way_and_held() == slots_) {
      ++result.skipped;
      return;
    }
    const std::int64_t earliest_ns = coming_.empty() ? sent_ns : coming_.back().arrival_ns;
    const auto jitter_ns = static_cast<std::int64_t>(random_() % static_cast<std::uint64_t>(jitter_ns_ + 1));
    coming_.push_back({number, std::max(earliest_ns, sent_ns + jitter_ns)});
    ++sent_;
  }

  [[nodiscard]] std::size_t on_their_way_and_held() const { return sent_ - frames_.returned().size(); }

  void arrive(const Sent& frame) {
    queue_.push(frames_.make({.sequence = frame.number,
                              .pts_ns = static_cast<std::int64_t>(frame.number) * period_ns,
                              .received_ns = frame.arrival_ns}));
  }

  const std::uint32_t slots_;
  const std::int64_t jitter_ns_;
  const std::int64_t before_ns_;
  std::mt19937 random_{7};
  std::int64_t now_ns_ = ns_per_s;
  std::uint64_t number_ = 0;
  std::size_t sent_ = 0;
  std::deque<Sent> coming_;
  FrameMaker frames_{PixelFormat::gray8, 2, 2};
  Statistics statistics_;
  FrameQueue queue_;
  std::optional<ReceivedFrame> drawn_;
};

TEST(RingForPacing, IsLargeEnoughWithTheNumberThatIsNamed) {
  for (const std::int64_t jitter_ms : {20, 31, 40, 48}) {
    UnevenWay small(3, jitter_ms * ns_per_ms);
    small.run(2000);
    const auto shortage = small.queue().ring_shortage();
    ASSERT_TRUE(shortage) << jitter_ms;
    EXPECT_TRUE(shortage->would_do);
    EXPECT_GT(small.run(1000).repeated, 10) << "frames that come later than they may wait are shown unevenly";

    for (const std::int64_t before_ms : {0, 1, 8, 15}) {
      UnevenWay enough(shortage->needed, jitter_ms * ns_per_ms, FrameSelection::paced, before_ms * ns_per_ms);
      enough.run(2000);
      EXPECT_FALSE(enough.queue().ring_shortage()) << jitter_ms;
      const auto result = enough.run(1000);
      EXPECT_EQ(result.skipped, 0) << jitter_ms << " ms, " << shortage->needed << " slots, " << before_ms;
      EXPECT_LE(result.repeated, 5) << jitter_ms << " ms, " << shortage->needed << " slots, " << before_ms;
    }
  }
}

TEST(RingForPacing, SaysNothingWithoutJitterNorOfOneLateFrameNorUnderOtherRules) {
  UnevenWay even(3, ns_per_ms);
  even.run(3000);
  EXPECT_FALSE(even.queue().ring_shortage());
  UnevenWay newest(3, 40 * ns_per_ms, FrameSelection::newest);
  newest.run(3000);
  EXPECT_FALSE(newest.queue().ring_shortage());
}

TEST(RingForPacing, SaysNothingBeforeEnoughFramesHaveCome) {
  UnevenWay way(3, 40 * ns_per_ms);
  way.run(200);
  EXPECT_FALSE(way.queue().ring_shortage());
}

/// Late frames that are few have causes of their own.
TEST(RingForPacing, AFewLateFramesAreNotTold) {
  for (const int late_frames : {3, 12}) {
    PlayoutSchedule schedule;
    schedule.limit_delay(period_ns);
    for (std::int64_t i = 0; i < 1024; ++i) {
      const bool is_late = i >= 100 && i % 20 == 0 && i < 100 + 20 * late_frames;
      schedule.frame_arrived(i * period_ns, i * period_ns + (is_late ? 40 * ns_per_ms : 0));
    }
    EXPECT_EQ(schedule.denied_delay_ns().has_value(), late_frames > 3);
  }
}

/// A quick stream that is shown with a slow one.
TEST(RingForPacing, IsAlsoToldOfAStreamThatWaitsForOthers) {
  PlayoutSchedule schedule;
  schedule.limit_delay(period_ns);
  const auto run = [&](std::int64_t others_need_ns, int frames) {
    static std::int64_t at_ns = 0;
    for (int i = 0; i < frames; ++i) {
      at_ns += period_ns;
      schedule.frame_arrived(at_ns, at_ns);
      schedule.wait_for(others_need_ns);
    }
  };
  run(10 * ns_per_ms, 1000);
  EXPECT_FALSE(schedule.denied_delay_ns());
  run(70 * ns_per_ms, 100);
  EXPECT_FALSE(schedule.denied_delay_ns()) << "for a while";
  run(70 * ns_per_ms, 200);
  ASSERT_TRUE(schedule.denied_delay_ns());
  EXPECT_NEAR(static_cast<double>(*schedule.denied_delay_ns()), 70e6, 1e6);
  EXPECT_EQ(find_ring_shortage(3, most_useful, period_ns, *schedule.denied_delay_ns())->needed, 7U);
  run(10 * ns_per_ms, 1);
  EXPECT_FALSE(schedule.denied_delay_ns());
}

}  // namespace
}  // namespace framewire
