#include "viewer/cadence_control.hpp"

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace framewire {
namespace {

constexpr std::int64_t refresh_ns = 16'666'667;

TEST(CadenceControl, AsksForAWholeNumberOfRefreshesNearTheSourcesOwnPeriod) {
  EXPECT_EQ(CadenceControl::period_for(60, refresh_ns), refresh_ns);
  EXPECT_EQ(CadenceControl::period_for(60'000.0 / 1001, refresh_ns), refresh_ns);
  EXPECT_EQ(CadenceControl::period_for(30, refresh_ns), 2 * refresh_ns);
  EXPECT_EQ(CadenceControl::period_for(20, refresh_ns), 3 * refresh_ns);
  EXPECT_FALSE(CadenceControl::period_for(50, refresh_ns));
  EXPECT_FALSE(CadenceControl::period_for(120, refresh_ns)) << "more frames than refreshes";
  EXPECT_FALSE(CadenceControl::period_for(0, refresh_ns));
  EXPECT_FALSE(CadenceControl::period_for(60, 0));
}

/// A source that follows, behind a wire with jitter, and a screen that chooses at every refresh.
class Loop {
 public:
  Loop(std::int64_t phase_ns, std::int64_t jitter_ns) : next_ns_(phase_ns), jitter_ns_(jitter_ns) {}

  /// How long each of the frames waited for its choice.
  std::vector<std::int64_t> run(int frames) {
    std::vector<std::int64_t> waits_ns;
    for (int i = 0; i < frames; ++i) {
      const std::int64_t received_ns =
          next_ns_ + static_cast<std::int64_t>(random_() % static_cast<std::uint64_t>(jitter_ns_ + 1));
      const std::int64_t choice_ns = (received_ns / refresh_ns + 1) * refresh_ns;
      waits_ns.push_back(choice_ns - received_ns);
      if (const auto request = control_.frame_chosen(received_ns, choice_ns, refresh_ns, refresh_ns)) {
        ++requests;
        period_ns_ = request->period_ns;
        next_ns_ += request->shift_ns;
      }
      next_ns_ += period_ns_;
    }
    return waits_ns;
  }

  int requests = 0;

 private:
  CadenceControl control_;
  std::mt19937_64 random_{1};
  std::int64_t period_ns_ = 16'683'333;  // of 59.94 fps
  std::int64_t next_ns_;
  std::int64_t jitter_ns_;
};

TEST(CadenceControl, FramesSoonArriveJustBeforeTheyAreNeeded) {
  for (const std::int64_t jitter_ns : {std::int64_t{0}, ns_per_ms, 4 * ns_per_ms}) {
    for (std::int64_t phase_ns = 0; phase_ns < refresh_ns; phase_ns += ns_per_ms) {
      Loop loop(ns_per_s + phase_ns, jitter_ns);
      loop.run(600);
      const std::vector<std::int64_t> waits_ns = loop.run(600);
      const auto [shortest, longest] = std::ranges::minmax_element(waits_ns);
      EXPECT_GT(*shortest, 0) << jitter_ns << " " << phase_ns;
      EXPECT_LT(*longest, CadenceControl::guard_ns + jitter_ns + ns_per_ms) << jitter_ns << " " << phase_ns;
    }
  }
}

TEST(CadenceControl, AsksRarelyOnceItFits) {
  Loop loop(ns_per_s, ns_per_ms / 4);
  loop.run(300);
  loop.requests = 0;
  loop.run(6000);
  EXPECT_LE(loop.requests, 3);
}

/// A gap between frames that arrive at any time is chance.
TEST(CadenceControl, MovesNoSourceWhoseFramesArriveTooUnevenly) {
  Loop loop(ns_per_s, 2 * refresh_ns);
  loop.run(60);  // it asks for the screen's period
  loop.requests = 0;
  loop.run(6000);
  EXPECT_EQ(loop.requests, 0);
}

TEST(CadenceControl, AsksRarelyAfterARefusal) {
  CadenceControl control;
  int requests = 0;
  for (int i = 0; i < 6480; ++i) {
    control.set_refused(requests > 0);
    requests += control.frame_chosen(0, 5 * ns_per_ms, refresh_ns, refresh_ns) ? 1 : 0;
  }
  EXPECT_EQ(requests, 11) << "48 frames, then 12, and then 648 for each";
}

TEST(CadenceControl, BeginsAnewWithASession) {
  CadenceControl control;
  const auto until_request = [&] {
    int frames = 0;
    for (std::optional<CadenceRequest> request; !request; ++frames) {
      request = control.frame_chosen(0, CadenceControl::guard_ns, refresh_ns, refresh_ns);
    }
    return frames;
  };
  EXPECT_EQ(until_request(), 48) << "the period is new";
  control.restart();
  EXPECT_EQ(until_request(), 48);
}

TEST(LastingMisfit, IsSaidOnceAndNotOfTheFirstEstimates) {
  LastingMisfit misfit;
  for (int i = 0; i + 1 < LastingMisfit::enough_frames; ++i) {
    EXPECT_FALSE(misfit.is_to_be_said(false)) << i;
  }
  EXPECT_FALSE(misfit.is_to_be_said(true));
  for (int i = 0; i < 3 * LastingMisfit::enough_frames; ++i) {
    EXPECT_EQ(misfit.is_to_be_said(false), i + 1 == LastingMisfit::enough_frames) << i;
  }
}

}  // namespace
}  // namespace framewire
