#include "viewer/sync_group.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <random>
#include <vector>

#include "tests/viewer/received_frames.hpp"
#include "viewer/frame_queue.hpp"

namespace framewire {
namespace {

constexpr std::int64_t frame_period_ns = ns_per_s / 60;

/// A stream whose frames take a while to come.
struct DistantStream {
  DistantStream(SyncGroup& group, std::int64_t way_ns, std::int64_t offset_ns, std::uint32_t slots)
      : takes_ns(way_ns), clock_offset_ns(offset_ns), queue(statistics, FrameSelection::paced, {[] {}, [] {}, [] {}}) {
    queue.synchronise(group);
    queue.set_clock_offset(clock_offset_ns);
    queue.set_ring(slots, frame_period_ns);
  }

  /// All frames that have come by `now_ns`, each later by up to `jitter_ns`.
  void receive(std::int64_t now_ns, std::int64_t jitter_ns, std::mt19937& random) {
    for (;; ++sequence) {
      const std::int64_t begun_ns = first_ns + static_cast<std::int64_t>(sequence) * frame_period_ns;
      if (begun_ns + takes_ns + jitter_ns > now_ns) {
        return;
      }
      const auto late_ns = static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(jitter_ns + 1));
      makers.push_back(std::make_unique<FrameMaker>(PixelFormat::gray8, 2, 2));
      queue.push(makers.back()->make(FrameMaker::Arrival{
          .sequence = sequence, .received_ns = begun_ns + takes_ns + late_ns, .begun_ns = begun_ns + clock_offset_ns}));
    }
  }

  /// Takes the frame for a refresh; the instant that is shown is newer, or stays.
  void show(std::int64_t refresh_ns) {
    if (const auto frame = queue.take(refresh_ns)) {
      shown_begun_ns = frame->header().times.begun_ns - clock_offset_ns;
      misses += queue.is_out_of_step() ? 1U : 0U;
      queue.settle([] {});
      ++shown;
    }
  }

  std::int64_t takes_ns;
  std::int64_t clock_offset_ns;
  std::int64_t first_ns = 0;
  std::uint64_t sequence = 0;
  std::int64_t shown_begun_ns = 0;
  int shown = 0;
  unsigned misses = 0;
  Statistics statistics;
  std::vector<std::unique_ptr<FrameMaker>> makers;
  FrameQueue queue;
};

class SyncGroupTest : public testing::Test {
 protected:
  /// Runs until `end_ns`. Returns how far apart the instants were that were shown together, at most, after a second.
  std::int64_t run(const std::vector<DistantStream*>& streams, std::int64_t end_ns) {
    std::int64_t largest_ns = 0;
    for (; refresh_ns_ < end_ns; refresh_ns_ += frame_period_ns) {
      std::int64_t oldest_ns = INT64_MAX, newest_ns = 0;
      for (DistantStream* stream : streams) {
        stream->receive(refresh_ns_, 2 * ns_per_ms, random_);
        stream->show(refresh_ns_);
        oldest_ns = std::min(oldest_ns, stream->shown_begun_ns);
        newest_ns = std::max(newest_ns, stream->shown_begun_ns);
      }
      largest_ns = refresh_ns_ > ns_per_s ? std::max(largest_ns, newest_ns - oldest_ns) : 0;
    }
    return largest_ns;
  }

  SyncGroup group_;
  std::mt19937 random_{1};
  std::int64_t refresh_ns_ = ns_per_ms;
};

TEST_F(SyncGroupTest, AQuickStreamWaitsForASlowOne) {
  DistantStream quick(group_, 5 * ns_per_ms, -3 * ns_per_s, 8);
  DistantStream slow(group_, 60 * ns_per_ms, 7 * ns_per_s, 8);
  slow.first_ns = 7 * ns_per_ms;
  EXPECT_LE(run({&quick, &slow}, 4 * ns_per_s), frame_period_ns);
  EXPECT_EQ(quick.misses, 0U);
  EXPECT_EQ(slow.misses, 0U);
  EXPECT_GT(quick.shown, 230) << "every frame is shown";
  EXPECT_GT(slow.shown, 230);
}

TEST_F(SyncGroupTest, EachByItselfIsShownAsItComes) {
  SyncGroup another;
  DistantStream quick(group_, 5 * ns_per_ms, 0, 8);
  DistantStream slow(another, 60 * ns_per_ms, 0, 8);
  EXPECT_GT(run({&quick, &slow}, 2 * ns_per_s), 2 * frame_period_ns);
}

TEST_F(SyncGroupTest, WhatARingCannotHoldIsCounted) {
  DistantStream quick(group_, 5 * ns_per_ms, 0, 3);  // it can wait for one period
  DistantStream slow(group_, 60 * ns_per_ms, 0, 3);
  EXPECT_GT(run({&quick, &slow}, 2 * ns_per_s), frame_period_ns);
  EXPECT_GT(quick.misses, 100U);
  EXPECT_EQ(slow.misses, 0U);
  EXPECT_GT(quick.shown, 110);
}

TEST_F(SyncGroupTest, NobodyWaitsForAStreamThatIsTooSlowOrGone) {
  DistantStream quick(group_, 5 * ns_per_ms, 0, 8);
  DistantStream too_slow(group_, 300 * ns_per_ms, 0, 8);
  run({&quick, &too_slow}, 2 * ns_per_s);
  EXPECT_LT(quick.queue.pacing()->delay_ns, frame_period_ns);
  EXPECT_GT(too_slow.misses, 50U) << "it is shown, later than the others";

  DistantStream slow(group_, 60 * ns_per_ms, 0, 8);
  slow.first_ns = refresh_ns_;
  run({&quick, &slow}, 4 * ns_per_s);
  EXPECT_GT(quick.queue.pacing()->delay_ns, 50 * ns_per_ms);
  run({&quick}, 5 * ns_per_s);  // nothing comes of the other
  EXPECT_LT(quick.queue.pacing()->delay_ns, frame_period_ns);
}

}  // namespace
}  // namespace framewire
