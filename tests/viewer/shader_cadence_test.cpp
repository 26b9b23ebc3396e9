#include "viewer/shader_cadence.hpp"

#include <gtest/gtest.h>

#include "base/clock.hpp"

namespace framewire {
namespace {

constexpr std::int64_t refresh_ns = ns_per_s / 60;

TEST(ShaderCadence, BeginsWithTheFirstPicture) {
  ShaderCadence cadence(50);
  EXPECT_LT(cadence.due_ns(), 0);
  EXPECT_EQ(cadence.take(5 * ns_per_s, 0), (ShaderCadence::Moment{.time_ns = 0, .delta_ns = 0}));
  EXPECT_EQ(cadence.due_ns(), 5 * ns_per_s + 20 * ns_per_ms);
}

TEST(ShaderCadence, DrawsOnlyWhatIsDueAndLeavesOutWhatIsLate) {
  ShaderCadence cadence(50);
  static_cast<void>(cadence.take(0, 0));
  EXPECT_FALSE(cadence.take(20 * ns_per_ms - 1, 0));
  EXPECT_EQ(cadence.take(20 * ns_per_ms, 0)->time_ns, 20 * ns_per_ms);
  EXPECT_EQ(cadence.take(107 * ns_per_ms, 0),
            (ShaderCadence::Moment{.time_ns = 100 * ns_per_ms, .delta_ns = 80 * ns_per_ms}));
  EXPECT_EQ(cadence.due_ns(), 120 * ns_per_ms);
}

/// Wherever its ticks lie between the refreshes, and although choices come a little early and late.
TEST(ShaderCadence, ARateThatIsTheScreensLeavesNoRefreshOut) {
  for (std::int64_t first_ns = 0; first_ns < refresh_ns; first_ns += refresh_ns / 16) {
    ShaderCadence cadence(60);
    static_cast<void>(cadence.take(first_ns, refresh_ns));
    int drawn = 0;
    for (int i = 1; i <= 600; ++i) {
      const std::int64_t jitter_ns = (i % 3 - 1) * 200'000;
      drawn += cadence.take(i * refresh_ns + jitter_ns, refresh_ns) ? 1 : 0;
    }
    EXPECT_GE(drawn, 598) << first_ns;
  }
}

TEST(ShaderCadence, ASlowerRateIsKept) {
  ShaderCadence cadence(20);
  int drawn = 0;
  for (int i = 0; i < 600; ++i) {
    drawn += cadence.take(i * refresh_ns, refresh_ns) ? 1 : 0;
  }
  EXPECT_NEAR(drawn, 200, 1);
}

/// What takes long is drawn for at most half of the time.
TEST(ShaderCadence, LeavesTheGpuAsMuchTimeAsItTakes) {
  ShaderCadence cadence(60);
  static_cast<void>(cadence.take(ns_per_s, refresh_ns));
  cadence.drawn(100 * ns_per_ms);
  EXPECT_EQ(cadence.due_ns(), ns_per_s + 200 * ns_per_ms);
  EXPECT_FALSE(cadence.take(ns_per_s + 199 * ns_per_ms, refresh_ns));
  EXPECT_TRUE(cadence.take(ns_per_s + 200 * ns_per_ms, refresh_ns));
  cadence.drawn(ns_per_ms);
  EXPECT_LT(cadence.due_ns(), ns_per_s + 220 * ns_per_ms) << "a cheap frame keeps the rate";
}

}  // namespace
}  // namespace framewire
