#include "viewer/silence.hpp"

#include <gtest/gtest.h>

#include "base/clock.hpp"

namespace framewire {
namespace {

constexpr std::int64_t heard_ns = 7 * ns_per_s;

SubscriberStatus connected(Rational rate) {
  SubscriberStatus status;
  status.state = SubscriberState::connected;
  status.session_number = status.format_session = 2;
  status.format.emplace().frame_rate = rate;
  return status;
}

std::int64_t wait_ns(Rational rate, std::int64_t pull_interval_ns = 0) {
  const auto silence = silence_of(connected(rate), heard_ns, pull_interval_ns);
  EXPECT_TRUE(silence);
  EXPECT_EQ(silence->since_ns, heard_ns);
  return silence->said_from_ns - heard_ns;
}

TEST(Silence, IsSaidAfterSomeSecondsOrThreeFrames) {
  EXPECT_EQ(wait_ns({60, 1}), 3 * ns_per_s);
  EXPECT_EQ(wait_ns({1, 1}), 3 * ns_per_s);
  EXPECT_EQ(wait_ns({1, 10}), 30 * ns_per_s);
  EXPECT_EQ(wait_ns({60, 1}, 5 * ns_per_s), 15 * ns_per_s) << "--pull asks that seldom";
  EXPECT_EQ(wait_ns({1, 4'000'000'000U}), 3 * 3600 * ns_per_s);
  EXPECT_EQ(wait_ns({60, 0}), 3 * ns_per_s);
}

TEST(Silence, IsOfSendersThatAreThereAndHaveARate) {
  EXPECT_FALSE(silence_of(connected({0, 1}), heard_ns, 0));
  for (const SubscriberState state :
       {SubscriberState::waiting, SubscriberState::lost, SubscriberState::finished, SubscriberState::failed}) {
    SubscriberStatus status = connected({60, 1});
    status.state = state;
    EXPECT_FALSE(silence_of(status, heard_ns, 0));
  }
  SubscriberStatus begins = connected({60, 1});
  begins.session_number = 3;
  EXPECT_FALSE(silence_of(begins, heard_ns, 0)) << "the format is that of an earlier session";
  begins.format.reset();
  EXPECT_FALSE(silence_of(begins, heard_ns, 0));
}

TEST(Silence, SaysHowLongItLasts) {
  const Silence silence{.since_ns = heard_ns, .said_from_ns = heard_ns + 3 * ns_per_s};
  EXPECT_EQ(describe(silence, heard_ns + 3 * ns_per_s - 1), "");
  EXPECT_EQ(describe(silence, heard_ns + 3 * ns_per_s), "no frame for 3 s");
  EXPECT_EQ(describe(silence, heard_ns + 200 * ns_per_s - 1), "no frame for 199 s");
}

}  // namespace
}  // namespace framewire
