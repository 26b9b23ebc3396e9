// Frames by their presentation time, on a clock of the test's own.
#include "viewer/playout_schedule.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <deque>
#include <functional>
#include <random>
#include <vector>

namespace framewire {
namespace {

constexpr double source_hz = 60'000.0 / 1001;
constexpr double screen_hz = 60;

/// A screen that shows a source's frames as the schedule says.
class Screen {
 public:
  struct Result {
    int repeats = 0;
    int skips = 0;
    int shown = 0;
    std::int64_t latency_ns = 0;  // of the frame shown last, from its arrival without jitter
  };

  /// `jitter_ns`: how much later than at once a frame of this number arrives.
  Screen(double frames_per_s, std::function<std::int64_t(std::int64_t)> jitter_ns)
      : frames_per_s_(frames_per_s), jitter_ns_(std::move(jitter_ns)) {}

  /// How presentation times are given: exactly, or rounded.
  void round_pts_to(std::int64_t unit_ns) { pts_unit_ns_ = unit_ns; }
  /// The source's clock is faster than the screen's by this part.
  void drift(double parts) { drift_ = parts; }

  Result run(int refreshes) {
    Result result;
    for (int i = 0; i < refreshes; ++i) {
      const auto now_ns = static_cast<std::int64_t>(std::llround(static_cast<double>(++refresh_) * 1e9 / screen_hz));
      arrive_until(now_ns);
      choose(now_ns, result);
    }
    return result;
  }

  PlayoutSchedule schedule;

 private:
  [[nodiscard]] std::int64_t sent_ns(std::int64_t number) const {
    return 1'000'000'000 + std::llround(static_cast<double>(number) * 1e9 / frames_per_s_ / (1 + drift_));
  }

  void arrive_until(std::int64_t now_ns) {
    while (sent_ns(sent_) <= now_ns) {
      const auto pts_ns = std::llround(static_cast<double>(sent_) * 1e9 / frames_per_s_);
      coming_.push_back({sent_ns(sent_) + jitter_ns_(sent_), pts_ns / pts_unit_ns_ * pts_unit_ns_, sent_});
      ++sent_;
    }
    std::ranges::stable_sort(coming_, {}, &Frame::arrival_ns);
    while (!coming_.empty() && coming_.front().arrival_ns <= now_ns) {
      schedule.frame_arrived(coming_.front().pts_ns, coming_.front().arrival_ns);
      waiting_.push_back(coming_.front());
      coming_.pop_front();
    }
  }

  void choose(std::int64_t now_ns, Result& result) {
    std::vector<std::int64_t> due_ns;
    for (const Frame& frame : waiting_) {
      due_ns.push_back(schedule.due_ns(frame.pts_ns, frame.arrival_ns));
    }
    const std::size_t due = PlayoutSchedule::count_due(due_ns, now_ns);
    if (due == 0) {
      ++result.repeats;
      return;
    }
    ++result.shown;
    result.skips += static_cast<int>(due) - 1;
    result.latency_ns = now_ns - sent_ns(waiting_.at(due - 1).number);
    waiting_.erase(waiting_.begin(), waiting_.begin() + static_cast<std::ptrdiff_t>(due));
  }

  struct Frame {
    std::int64_t arrival_ns, pts_ns, number;
  };
  const double frames_per_s_;
  const std::function<std::int64_t(std::int64_t)> jitter_ns_;
  double drift_ = 0;
  std::int64_t pts_unit_ns_ = 1;
  std::int64_t refresh_ = 0;
  std::int64_t sent_ = 0;
  std::deque<Frame> coming_;
  std::deque<Frame> waiting_;
};

/// Up to `most_ns`, by the number of the frame.
auto jitter_up_to(std::int64_t most_ns, unsigned seed) {
  return [most_ns, seed](std::int64_t number) {
    std::mt19937_64 random(static_cast<std::uint64_t>(number) * 7919 + seed);
    return static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(most_ns + 1));
  };
}

constexpr int warm_up = 1200;  // refreshes: the schedule measures 1,024 frames

TEST(PlayoutSchedule, RepeatsTenOf10010RefreshesOf60HzForASourceOf59_94AndSkipsNone) {
  for (unsigned seed = 0; seed < 20; ++seed) {
    Screen screen(source_hz, jitter_up_to(4 * ns_per_ms, seed));
    screen.run(warm_up);
    const auto result = screen.run(10'010);
    EXPECT_EQ(result.repeats, 10) << "seed " << seed;
    EXPECT_EQ(result.skips, 0) << "seed " << seed;
    EXPECT_EQ(result.shown, 10'000) << "seed " << seed;
  }
}

TEST(PlayoutSchedule, DoesSoAlsoIfPresentationTimesAreRoundedToMilliseconds) {
  for (unsigned seed = 0; seed < 20; ++seed) {
    Screen screen(source_hz, jitter_up_to(3 * ns_per_ms, seed));
    screen.round_pts_to(ns_per_ms);
    screen.run(warm_up);
    const auto result = screen.run(10'010);
    EXPECT_EQ(result.repeats, 10) << "seed " << seed;
    EXPECT_EQ(result.skips, 0) << "seed " << seed;
  }
}

TEST(PlayoutSchedule, SkipsWhatIsTooMuchOfAFasterSourceAndRepeatsNothing) {
  Screen screen(60 * 1.001, jitter_up_to(2 * ns_per_ms, 1));
  screen.run(warm_up);
  const auto result = screen.run(10'000);
  EXPECT_EQ(result.repeats, 0);
  EXPECT_EQ(result.skips, 10);
}

TEST(PlayoutSchedule, ShowsEveryFrameOfASlowerSourceEquallyLong) {
  Screen screen(30, jitter_up_to(4 * ns_per_ms, 1));
  screen.run(warm_up);
  const auto result = screen.run(6000);
  EXPECT_EQ(result.shown, 3000);
  EXPECT_EQ(result.repeats, 3000);
  EXPECT_EQ(result.skips, 0);
}

/// Clocks of two machines differ by up to 0.01 % each.
TEST(PlayoutSchedule, FollowsAClockThatDrifts) {
  for (const double drift : {-0.0001, 0.0001}) {
    Screen screen(60, jitter_up_to(ns_per_ms, 3));
    screen.drift(drift);
    screen.run(warm_up);
    const auto result = screen.run(60'000);  // 16 minutes; the clocks part by 100 ms
    EXPECT_LE(result.repeats + result.skips, 7) << drift;
    EXPECT_LT(result.latency_ns, 25 * ns_per_ms);
  }
}

TEST(PlayoutSchedule, MeasuresThe999thOfAThousandFramesAndAddsAGuard) {
  Screen screen(60, jitter_up_to(10 * ns_per_ms, 5));
  screen.run(2500);
  EXPECT_NEAR(static_cast<double>(screen.schedule.jitter_ns()), 10e6, 0.1e6);
  EXPECT_EQ(screen.schedule.delay_ns(), screen.schedule.jitter_ns() + PlayoutSchedule::guard_ns);
}

TEST(PlayoutSchedule, OneLateFrameOfAThousandDoesNotDelayTheOthers) {
  Screen screen(60, [](std::int64_t number) { return number == 1500 ? 50 * ns_per_ms : ns_per_ms; });
  screen.run(3000);
  EXPECT_LE(screen.schedule.jitter_ns(), PlayoutSchedule::first_jitter_ns);
}

TEST(PlayoutSchedule, TheDelayFallsAgainWhenTheJitterHasFallen) {
  Screen screen(60, [](std::int64_t number) {
    return number < 2000 ? jitter_up_to(20 * ns_per_ms, 1)(number) : jitter_up_to(ns_per_ms, 1)(number);
  });
  screen.run(1900);
  EXPECT_GT(screen.schedule.jitter_ns(), 15 * ns_per_ms);
  screen.run(2500);
  EXPECT_LT(screen.schedule.jitter_ns(), 2 * ns_per_ms);
}

/// A sender or a network that stops for half a second, and then brings what it has at once.
TEST(PlayoutSchedule, IsBackAtItsLatencyASecondAfterAStall) {
  constexpr std::int64_t stall_begins_ns = 31 * ns_per_s;
  constexpr std::int64_t stall_ends_ns = stall_begins_ns + 500 * ns_per_ms;
  const auto arrives = [](std::int64_t number) {
    const std::int64_t sent_ns = ns_per_s + std::llround(static_cast<double>(number) * 1e9 / 60);
    const bool is_held = sent_ns >= stall_begins_ns && sent_ns < stall_ends_ns;
    return is_held ? stall_ends_ns - sent_ns : jitter_up_to(2 * ns_per_ms, 9)(number);
  };
  Screen screen(60, arrives);
  const auto before = screen.run(1800);  // until 30 s
  screen.run(static_cast<int>((stall_ends_ns / ns_per_s + 1) * 60 - 1800));
  const auto after = screen.run(30);
  EXPECT_NEAR(static_cast<double>(after.latency_ns), static_cast<double>(before.latency_ns), 1e9 / 60);
  EXPECT_EQ(after.repeats + after.skips, 0);
}

/// The source itself stands still, and its presentation times go on where they were.
TEST(PlayoutSchedule, IsBackAtItsLatencyAfterTheSourceStoodStill) {
  PlayoutSchedule schedule;
  std::int64_t now_ns = 0;
  std::int64_t pts_ns = 0;
  const auto bring = [&](int frames) {
    for (int i = 0; i < frames; ++i) {
      now_ns += 16 * ns_per_ms;
      pts_ns += 16 * ns_per_ms;
      schedule.frame_arrived(pts_ns, now_ns);
    }
  };
  bring(2000);
  const std::int64_t before_ns = schedule.due_ns(pts_ns, now_ns) - now_ns;
  now_ns += 500 * ns_per_ms;
  bring(60);
  EXPECT_NEAR(static_cast<double>(schedule.due_ns(pts_ns, now_ns) - now_ns), static_cast<double>(before_ns), 1e6);
}

TEST(PlayoutSchedule, BeginsAnewWithASession) {
  PlayoutSchedule schedule;
  schedule.frame_arrived(1'000 * ns_per_s, ns_per_s);
  schedule.restart();
  schedule.frame_arrived(0, 2 * ns_per_s);
  EXPECT_EQ(schedule.due_ns(0, 2 * ns_per_s), 2 * ns_per_s + schedule.delay_ns());
}

/// However a peer counts time, each of its frames is shown soon.
TEST(PlayoutSchedule, BearsAnyPresentationTimeOfAPeer) {
  PlayoutSchedule schedule;
  std::int64_t now_ns = ns_per_s;
  for (int round = 0; round < 300; ++round) {
    for (const std::int64_t pts_ns : {INT64_MAX, INT64_MIN, std::int64_t{0}, INT64_MAX - 1, 3600 * ns_per_s}) {
      schedule.frame_arrived(pts_ns, now_ns += ns_per_ms);
      ASSERT_LE(schedule.jitter_ns(), PlayoutSchedule::longest_jitter_ns);
      for (const std::int64_t waiting_pts_ns : {INT64_MAX, INT64_MIN, std::int64_t{0}, 3600 * ns_per_s, pts_ns}) {
        ASSERT_LE(schedule.due_ns(waiting_pts_ns, now_ns), now_ns + schedule.delay_ns());
      }
    }
  }
}

TEST(PlayoutSchedule, AFrameHasReachedItsTimeIfALaterOneHas) {
  EXPECT_EQ(PlayoutSchedule::count_due(std::array<std::int64_t, 3>{900, 100, 800}, 500), 2U);
  EXPECT_EQ(PlayoutSchedule::count_due(std::array<std::int64_t, 2>{100, 200}, 500), 2U);
  EXPECT_EQ(PlayoutSchedule::count_due(std::array<std::int64_t, 2>{500 + PlayoutSchedule::early_ns, INT64_MAX}, 500),
            1U);
  EXPECT_EQ(PlayoutSchedule::count_due(std::array<std::int64_t, 1>{501 + PlayoutSchedule::early_ns}, 500), 0U);
  EXPECT_EQ(PlayoutSchedule::count_due({}, 500), 0U);
}

/// A ring has few slots: frames that wait longer would hold all of them.
TEST(PlayoutSchedule, TheDelayStaysBelowItsLimit) {
  Screen screen(60, jitter_up_to(40 * ns_per_ms, 1));
  screen.schedule.limit_delay(15 * ns_per_ms);
  screen.run(2000);
  EXPECT_GT(screen.schedule.jitter_ns(), 30 * ns_per_ms);
  EXPECT_EQ(screen.schedule.delay_ns(), 15 * ns_per_ms);
}

/// A peer whose frames come later and later cannot make the delay grow without end.
TEST(PlayoutSchedule, TheDelayHasALimit) {
  PlayoutSchedule schedule;
  for (std::int64_t i = 0; i < 20'000; ++i) {
    schedule.frame_arrived(i * ns_per_ms, i * ns_per_ms + (i % 2) * i * 20 * ns_per_us);
    ASSERT_LE(schedule.jitter_ns(), PlayoutSchedule::longest_jitter_ns);
  }
}

}  // namespace
}  // namespace framewire
