#include <gtest/gtest.h>

#include "base/clock.hpp"
#include "media/frame_rate.hpp"
#include "sender/sources/media/presentation_clock.hpp"

namespace framewire {
namespace {

constexpr std::int64_t frame_ns = 20 * ns_per_ms;
constexpr std::int64_t start_ns = 1000 * ns_per_s;

TEST(PresentationClock, TheFirstFrameIsDueAtOnceAndTheRestFollowTheirTimes) {
  PresentationClock presentation_clock(frame_ns);
  EXPECT_EQ(presentation_clock.due_ns(500, start_ns), start_ns);
  EXPECT_EQ(presentation_clock.due_ns(500 + frame_ns, start_ns + 7), start_ns + frame_ns);
  EXPECT_EQ(presentation_clock.due_ns(500 + 5 * frame_ns, start_ns + frame_ns), start_ns + 5 * frame_ns);
}

TEST(PresentationClock, DoesNotDriftHoweverLateItIsAsked) {
  PresentationClock presentation_clock(frame_ns);
  constexpr Rational rate{60000, 1001};
  std::int64_t now_ns = start_ns;
  for (std::uint64_t i = 0; i < 100'000; ++i) {
    const std::int64_t due_ns = presentation_clock.due_ns(frame_time_ns(rate, i), now_ns);
    ASSERT_EQ(due_ns, start_ns + frame_time_ns(rate, i));
    now_ns = due_ns + static_cast<std::int64_t>(i * 7919 % 9'000'000);  // up to 9 ms of work and jitter
  }
}

TEST(PresentationClock, AfterAPauseItGoesOnFromThePresentWithoutABurst) {
  PresentationClock presentation_clock(frame_ns);
  presentation_clock.due_ns(0, start_ns);
  const std::int64_t back_ns = start_ns + 5 * ns_per_s;
  EXPECT_EQ(presentation_clock.due_ns(frame_ns, back_ns), back_ns);
  EXPECT_EQ(presentation_clock.due_ns(2 * frame_ns, back_ns), back_ns + frame_ns);
}

TEST(PresentationClock, JumpsOfTheTimestampsAreNotWaitedFor) {
  PresentationClock presentation_clock(frame_ns);
  presentation_clock.due_ns(0, start_ns);
  EXPECT_EQ(presentation_clock.due_ns(3600 * ns_per_s, start_ns), start_ns + frame_ns);   // a day later, it says
  EXPECT_EQ(presentation_clock.due_ns(0, start_ns + frame_ns), start_ns + 2 * frame_ns);  // and back
  EXPECT_EQ(presentation_clock.due_ns(frame_ns, start_ns + 2 * frame_ns), start_ns + 3 * frame_ns);
}

TEST(PresentationClock, StillPicturesAreWaitedFor) {
  PresentationClock slow(30 * ns_per_s);
  slow.due_ns(0, start_ns);
  EXPECT_EQ(slow.due_ns(30 * ns_per_s, start_ns), start_ns + 30 * ns_per_s);
  PresentationClock presentation_clock(frame_ns);
  presentation_clock.due_ns(0, start_ns);
  EXPECT_EQ(presentation_clock.due_ns(4 * ns_per_s, start_ns), start_ns + 4 * ns_per_s);
}

TEST(PresentationClock, TimestampsAtTheEndsOfTheirRangeAreJumps) {
  PresentationClock presentation_clock(frame_ns);
  std::int64_t now_ns = start_ns;
  for (const std::int64_t pts_ns : {INT64_MAX, INT64_MIN, INT64_MAX, std::int64_t{0}, INT64_MIN, INT64_MAX}) {
    const std::int64_t due_ns = presentation_clock.due_ns(pts_ns, now_ns);
    EXPECT_GE(due_ns, now_ns) << pts_ns;
    EXPECT_LE(due_ns, now_ns + frame_ns) << pts_ns;
    now_ns = due_ns;
  }
}

TEST(PresentationClock, TheLongestFramePeriodIsNoJump) {
  PresentationClock presentation_clock(INT64_MAX / 2);
  presentation_clock.due_ns(0, start_ns);
  EXPECT_EQ(presentation_clock.due_ns(INT64_MAX / 2, start_ns), start_ns + INT64_MAX / 2);
  EXPECT_EQ(presentation_clock.due_ns(INT64_MAX, start_ns), INT64_MAX);
}

}  // namespace
}  // namespace framewire
