#include "sender/sources/gl/tick_clock.hpp"

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

TEST(TickClock, ErrorsDoNotAddUp) {
  const TickClock clock(60, start_ns);
  EXPECT_EQ(clock.due_ns(60LL * 3600 * 24), start_ns + ns_per_s * 24 * 3600);
}

}  // namespace
}  // namespace framewire
