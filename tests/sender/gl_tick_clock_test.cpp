#include "gl/tick_clock.hpp"

#include <gtest/gtest.h>

#include "base/clock.hpp"

namespace framewire {
namespace {

constexpr std::int64_t start_ns = 1'000'000'007;

TEST(TickClock, WhoIsInTimeGetsEveryTick) {
  const TickClock clock(60, start_ns);
  std::int64_t tick = -1;
  for (int i = 0; i < 1000; ++i) {
    const std::int64_t now_ns = i == 0 ? start_ns : clock.due_ns(tick) + 3 * ns_per_ms;
    tick = clock.next(tick, now_ns);
    EXPECT_EQ(tick, i);
  }
}

TEST(TickClock, WhoIsLateSkipsTicksAndHasNoDebt) {
  const TickClock clock(50, start_ns);
  EXPECT_EQ(clock.next(3, start_ns + 99 * ns_per_ms), 4);
  EXPECT_EQ(clock.next(3, start_ns + 100 * ns_per_ms), 5);
  EXPECT_EQ(clock.next(3, start_ns + 10 * ns_per_s), 500);
  EXPECT_EQ(clock.next(500, start_ns + 10 * ns_per_s + 1), 501);
}

TEST(TickClock, ATickIsDueAtItsOwnTime) {
  for (const double rate : {23.976, 24.0, 50.0, 59.94, 60.0, 144.0, 1000.0}) {
    const TickClock clock(rate, start_ns);
    for (const std::int64_t tick : {1LL, 2LL, 7LL, 59LL, 60LL, 1000LL, 777'777LL, 20'000'000LL}) {
      EXPECT_EQ(clock.next(0, clock.due_ns(tick)), tick) << rate;
      EXPECT_EQ(clock.next(0, clock.due_ns(tick + 1) - 1), tick) << rate;
    }
  }
}

TEST(TickClock, TimesGoOnEvenlyWhenThePeriodChanges) {
  TickClock clock(50, start_ns);
  const std::int64_t before_ns = clock.due_ns(100);
  clock.change(100, 21 * ns_per_ms, 0);
  EXPECT_EQ(clock.due_ns(100), before_ns);
  EXPECT_EQ(clock.due_ns(101), before_ns + 21 * ns_per_ms);
  EXPECT_EQ(clock.offset_ns(103), 2 * ns_per_s + 63 * ns_per_ms);
  clock.change(103, 20 * ns_per_ms, 0);
  EXPECT_EQ(clock.offset_ns(104), 2 * ns_per_s + 83 * ns_per_ms);
}

TEST(TickClock, AShiftMovesWhenTicksAreDueAndNotTheAnimation) {
  for (const std::int64_t shift_ns : {3 * ns_per_ms, -3 * ns_per_ms}) {
    TickClock clock(50, start_ns);
    clock.change(10, 20 * ns_per_ms, shift_ns);
    EXPECT_EQ(clock.offset_ns(11), 220 * ns_per_ms);
    EXPECT_EQ(clock.due_ns(11), start_ns + 220 * ns_per_ms + shift_ns);
    clock.change(11, 20 * ns_per_ms, shift_ns);
    EXPECT_EQ(clock.offset_ns(12), 240 * ns_per_ms);
    EXPECT_EQ(clock.due_ns(12), start_ns + 240 * ns_per_ms + 2 * shift_ns) << "shifts add up";
  }
}

TEST(TickClock, WhoIsInTimeGetsEveryTickAlsoAfterAChange) {
  TickClock clock(60, start_ns);
  std::int64_t tick = 0;
  for (int i = 1; i < 3000; ++i) {
    if (i % 10 == 0) {
      clock.change(tick, 16'666'667 + i % 7 * 1000, (i % 3 - 1) * 16 * ns_per_ms);
    }
    EXPECT_EQ(clock.next(tick, clock.due_ns(tick)), i);
    EXPECT_EQ(clock.next(tick, start_ns - ns_per_s), i) << "however early it comes";
    tick = clock.next(tick, clock.due_ns(tick + 1));
    ASSERT_EQ(tick, i);
  }
  EXPECT_EQ(clock.next(tick, clock.due_ns(tick + 9)), tick + 9) << "who is late skips ticks";
}

TEST(TickClock, ErrorsDoNotAddUp) {
  const TickClock clock(60, start_ns);
  EXPECT_EQ(clock.due_ns(60LL * 3600 * 24), start_ns + ns_per_s * 24 * 3600);
}

}  // namespace
}  // namespace framewire
