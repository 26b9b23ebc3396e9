#include "base/adaptive_spin.hpp"

#include <gtest/gtest.h>

namespace framewire {
namespace {

constexpr std::int64_t start_ns = 1'000'000;
constexpr std::int64_t within_ns = AdaptiveSpin::short_wait_ns - 1;
constexpr std::int64_t too_long_ns = AdaptiveSpin::short_wait_ns;

/// One wait whose event arrives after `waited_ns`. Returns whether the wait would have polled.
bool wait_once(AdaptiveSpin& spin, std::int64_t waited_ns) {
  const bool polls = spin.poll_again(WaitMode::adaptive, start_ns);
  spin.found(start_ns + waited_ns);
  return polls;
}

TEST(AdaptiveSpin, SleepsUntilAWaitWasShort) {
  AdaptiveSpin spin;
  EXPECT_FALSE(wait_once(spin, too_long_ns));
  EXPECT_FALSE(wait_once(spin, within_ns));
  EXPECT_TRUE(wait_once(spin, within_ns));
  EXPECT_TRUE(wait_once(spin, too_long_ns));
  EXPECT_FALSE(wait_once(spin, within_ns));
}

TEST(AdaptiveSpin, PollsNoLongerThanAShortWaitLasts) {
  AdaptiveSpin spin;
  wait_once(spin, within_ns);
  EXPECT_TRUE(spin.poll_again(WaitMode::adaptive, start_ns));
  EXPECT_TRUE(spin.poll_again(WaitMode::adaptive, start_ns + within_ns));
  EXPECT_FALSE(spin.poll_again(WaitMode::adaptive, start_ns + too_long_ns));
  EXPECT_FALSE(spin.poll_again(WaitMode::adaptive, start_ns + too_long_ns + 1)) << "the same wait goes on";
}

TEST(AdaptiveSpin, WhatIsThereAtOnceSaysNothingOfWaits) {
  AdaptiveSpin spin;
  wait_once(spin, within_ns);
  spin.found(start_ns + 1'000'000'000);
  EXPECT_TRUE(wait_once(spin, within_ns));
}

TEST(AdaptiveSpin, ModesThatDoNotAdapt) {
  AdaptiveSpin spin;
  wait_once(spin, within_ns);
  EXPECT_FALSE(spin.poll_again(WaitMode::block, start_ns));
  EXPECT_TRUE(spin.poll_again(WaitMode::spin, start_ns + 1'000'000'000));
}

TEST(AdaptiveSpin, ByTheClockTheSame) {
  AdaptiveSpin spin;
  EXPECT_TRUE(spin.poll_again(WaitMode::spin));
  EXPECT_FALSE(spin.poll_again(WaitMode::block));
  EXPECT_FALSE(spin.poll_again(WaitMode::adaptive)) << "no wait has been short yet";
}

}  // namespace
}  // namespace framewire
