#include "transport/render_requests.hpp"

#include <gtest/gtest.h>

#include <thread>

#include "base/clock.hpp"

namespace framewire {
namespace {

RenderRequest request(std::uint64_t id) {
  return {.id = id, .camera = orbiting_camera(0.01 * static_cast<double>(id), 0, 4), .time_ns = 5};
}

class RenderRequestsTest : public testing::Test {
 protected:
  /// Why it is refused, or nothing.
  std::string ask(const void* session, const RenderRequest& request) {
    const auto refusal = requests_.ask(session, request);
    EXPECT_TRUE(!refusal || (refusal->id == request.id && !refusal->text.empty()));
    return refusal ? refusal->text : "";
  }

  RenderRequests requests_;
  const int one_ = 0;
  const int other_ = 0;
};

TEST_F(RenderRequestsTest, ASourceThatOffersNothingIsAskedInVain) {
  EXPECT_NE(ask(&one_, request(1)).find("does not render on request"), std::string::npos);
  EXPECT_FALSE(requests_.is_driven());
  EXPECT_FALSE(requests_.next(0));
}

TEST_F(RenderRequestsTest, GoToTheSourceInTheirOrder) {
  requests_.offer();
  EXPECT_EQ(ask(&one_, request(1)), "");
  EXPECT_EQ(ask(&one_, request(2)), "");
  EXPECT_NE(ask(&one_, request(3)).find("two frames"), std::string::npos);
  EXPECT_TRUE(requests_.is_driven());
  EXPECT_EQ(requests_.next(0), request(1));
  EXPECT_EQ(requests_.next(0), request(2));
  EXPECT_FALSE(requests_.next(monotonic_ns()));
}

TEST_F(RenderRequestsTest, TheFirstAskerOwnsTheCameraUntilItLeaves) {
  requests_.offer();
  EXPECT_EQ(ask(&one_, request(1)), "");
  EXPECT_NE(ask(&other_, request(2)).find("another viewer"), std::string::npos);
  requests_.revoke(&other_, 1);
  requests_.forget(&other_);
  EXPECT_EQ(requests_.next(0), request(1)) << "who does not own it changes nothing";
  EXPECT_EQ(ask(&one_, request(3)), "");
  requests_.forget(&one_);
  EXPECT_FALSE(requests_.is_driven());
  EXPECT_FALSE(requests_.next(0)) << "nobody waits for it any more";
  EXPECT_EQ(ask(&other_, request(4)), "");
  EXPECT_EQ(requests_.next(0), request(4));
}

TEST_F(RenderRequestsTest, WhoAsksForNothingAnyMoreLosesTheCamera) {
  requests_.offer();
  EXPECT_EQ(ask(&one_, request(1)), "");
  EXPECT_TRUE(requests_.next(0));
  EXPECT_NE(ask(&other_, request(2)), "");
  EXPECT_FALSE(requests_.next(INT64_MAX)) << "it does not wait longer than the pause may be";
  EXPECT_FALSE(requests_.is_driven());
  EXPECT_EQ(ask(&other_, request(3)), "");
}

/// Asking and revoking in turn must not hold the camera: nothing is rendered.
TEST_F(RenderRequestsTest, WhoRevokesAllThatItAsksForLosesTheCamera) {
  requests_.offer();
  const std::int64_t watchdog_ns = monotonic_ns() + 60 * ns_per_s;
  for (std::uint64_t id = 1; monotonic_ns() < watchdog_ns; ++id) {
    EXPECT_EQ(ask(&one_, request(id)), "");
    requests_.revoke(&one_, id);
    EXPECT_FALSE(requests_.next(monotonic_ns() + ns_per_ms));
    if (!requests_.is_driven()) {
      break;
    }
  }
  EXPECT_EQ(ask(&other_, request(9)), "");
}

/// Slower sources render the same frame, and it waits for them.
TEST_F(RenderRequestsTest, WhoAsksAgainForWhatWasRenderedKeepsTheCamera) {
  requests_.offer();
  EXPECT_EQ(ask(&one_, request(1)), "");
  EXPECT_EQ(ask(&one_, request(1)), "") << "it waits already";
  EXPECT_EQ(requests_.next(0), request(1));
  EXPECT_FALSE(requests_.next(monotonic_ns()));
  const std::int64_t until_ns = monotonic_ns() + RenderRequests::longest_pause_ns + 100 * ns_per_ms;
  while (monotonic_ns() < until_ns) {
    EXPECT_EQ(ask(&one_, request(1)), "");
    EXPECT_FALSE(requests_.next(monotonic_ns() + 50 * ns_per_ms));
  }
  EXPECT_TRUE(requests_.is_driven());
  EXPECT_EQ(requests_.taken(), 1U);
}

TEST_F(RenderRequestsTest, TheReasonOfARefusalIsNamed) {
  using Reason = RenderRefusal::Reason;
  EXPECT_EQ(requests_.ask(&one_, request(1))->reason, Reason::unsupported);
  requests_.offer();
  EXPECT_EQ(ask(&one_, request(1)), "");
  EXPECT_EQ(requests_.ask(&other_, request(2))->reason, Reason::owned);
  EXPECT_EQ(ask(&one_, request(3)), "");
  EXPECT_EQ(requests_.ask(&one_, request(4))->reason, Reason::busy);
}

TEST_F(RenderRequestsTest, WhatIsRevokedIsNotRendered) {
  requests_.offer();
  EXPECT_EQ(ask(&one_, request(1)), "");
  EXPECT_EQ(ask(&one_, request(2)), "");
  requests_.revoke(&one_, 1);
  EXPECT_EQ(requests_.next(0), request(2));
  EXPECT_TRUE(requests_.is_driven());
}

TEST_F(RenderRequestsTest, ASourceThatWaitsIsWoken) {
  requests_.offer();
  EXPECT_EQ(ask(&one_, request(1)), "");
  EXPECT_TRUE(requests_.next(0));
  const auto wakes = [this](auto&& act) {
    std::thread source([this] { EXPECT_FALSE(requests_.next(INT64_MAX)); });
    act();
    source.join();
  };
  wakes([this] { requests_.forget(&one_); });
  EXPECT_EQ(ask(&one_, request(2)), "");
  EXPECT_TRUE(requests_.next(0));
  std::optional<RenderRequest> taken;
  std::thread source([&] { taken = requests_.next(INT64_MAX); });
  EXPECT_EQ(ask(&one_, request(3)), "");
  source.join();
  EXPECT_EQ(taken, request(3));
  wakes([this] { requests_.stop(); });
}

TEST_F(RenderRequestsTest, OthersLearnTheNewestThatWereTaken) {
  requests_.offer();
  std::uint64_t seen = 0;
  EXPECT_TRUE(requests_.taken_after(seen).empty());
  for (std::uint64_t id = 1; id <= 20; ++id) {
    EXPECT_EQ(ask(&one_, request(id)), "");
    EXPECT_TRUE(requests_.next(0));
  }
  EXPECT_NE(ask(&other_, request(99)), "");
  EXPECT_EQ(ask(&one_, request(98)), "");
  EXPECT_EQ(requests_.taken(), 20U) << "what nobody renders is not told";
  requests_.revoke(&one_, 98);
  const auto known = requests_.taken_after(seen);
  ASSERT_EQ(known.size(), RenderRequests::most_known);
  EXPECT_EQ(known.front(), request(13));
  EXPECT_EQ(known.back(), request(20));
  EXPECT_EQ(seen, 20U);
  EXPECT_TRUE(requests_.taken_after(seen).empty());
  EXPECT_EQ(ask(&one_, request(21)), "");
  EXPECT_TRUE(requests_.next(0));
  EXPECT_EQ(requests_.taken_after(seen).size(), 1U);
}

}  // namespace
}  // namespace framewire
