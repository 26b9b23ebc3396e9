// `latest` on a slow connection: one frame is in flight, and the next one sent is the newest.
#include <gtest/gtest.h>
#include <stdlib.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "base/clock.hpp"
#include "tests/base/eventually.hpp"
#include "tests/base/logs.hpp"
#include "tests/base/temporary_folder.hpp"
#include "tests/transport/relay.hpp"
#include "transport/session/sender_service.hpp"
#include "transport/session/subscriber.hpp"

namespace framewire {
namespace {

using test::eventually;

/// More than the kernel buffers for a sender with a bounded queue while the relay does not read, and less than it
/// would buffer for one without the bound.
constexpr std::uint64_t frame_bytes = std::uint64_t{1} << 20;
constexpr std::uint64_t frames_while_held = 20;

class NewestOnly : public testing::Test {
 protected:
  NewestOnly() {
    ::setenv("XDG_CONFIG_HOME", folder_.path().c_str(), 1);
    stream_.begin_epoch({.layout = bytes_layout(frame_bytes), .colour = {}});
  }
  ~NewestOnly() override {
    subscriber_.close({});
    stream_.finish();
    service_.drain(monotonic_ns() + ns_per_s);
  }

  static EndpointOptions endpoint() {
    EndpointOptions options;
    options.allowed_links = {LinkKind::tcp};
    options.insecure = true;  // the viewer cannot know that the relay belongs to this user
    options.may_choose_link = false;
    return options;
  }
  static EndpointOptions listening() {
    EndpointOptions options = endpoint();
    options.listen = HostPort{"127.0.0.1", 0};
    return options;
  }
  SubscriberOptions dialling() const {
    SubscriberOptions options{.endpoint = endpoint(), .stream = {}, .delivery = {}};
    options.endpoint.dial = HostPort{"127.0.0.1", relay_.port()};
    return options;
  }

  void publish() {
    auto slot = stream_.claim();
    ASSERT_TRUE(slot);
    stream_.publish(std::move(*slot), {.layout = {}});
  }

  /// Receives frames up to the sequence number `last` and returns all their numbers.
  std::vector<std::uint64_t> take_until(std::uint64_t last) {
    std::vector<std::uint64_t> sequences;
    EXPECT_TRUE(eventually([&] {
      if (const auto frame = subscriber_.next()) {
        sequences.push_back(frame->header().sequence);
      }
      return !sequences.empty() && sequences.back() == last;
    })) << (sequences.empty() ? 0 : sequences.back());
    return sequences;
  }

  test::TemporaryFolder folder_;
  test::ShownLog log_;
  Stream stream_{{.name = "test", .delivery = Delivery::latest}};
  SenderService service_{listening(), std::vector<Stream*>{&stream_}, "test", log_};
  test::Relay relay_{service_.port()};
  Subscriber subscriber_{dialling(), log_};
};

TEST_F(NewestOnly, OneStaleFrameAtMostComesBeforeTheNewestOne) {
  publish();
  take_until(0);
  relay_.hold(true);
  for (std::uint64_t i = 0; i < frames_while_held; ++i) {
    publish();
  }
  relay_.hold(false);
  const auto sequences = take_until(frames_while_held);
  EXPECT_LE(sequences.size(), 2U) << "frames waited in the link, or in the kernel";
}

/// Time here is what the relay lets through, so it does not depend on the machine: this wire carries one step in a unit
/// of time, and a frame in its wire time of steps_per_frame units. The bound comes from what a frame waits for: its own
/// wire time, and before that the rest of the one frame in front of it, which is less than another wire time. A second
/// frame in front of it, in the link or in the kernel's buffers, would be a third wire time.
TEST_F(NewestOnly, AFrameIsShownBeforeItIsTwoWireTimesOld) {
  constexpr std::uint64_t bytes_on_the_wire = frame_bytes + frame_header_fixed_bytes;
  constexpr std::uint64_t steps_per_frame = 16;
  constexpr std::uint64_t step_bytes = bytes_on_the_wire / steps_per_frame;
  constexpr std::uint64_t frames = 10;
  publish();
  take_until(0);
  relay_.throttle();
  const std::uint64_t before = relay_.data_bytes();
  std::uint64_t received = 0;
  std::uint64_t oldest_steps = 0;
  std::uint64_t newest_steps = UINT64_MAX;
  for (std::uint64_t step = 1; step <= frames * steps_per_frame; ++step) {
    publish();  // its sequence number is `step`
    relay_.let_through(step_bytes);
    ASSERT_TRUE(eventually([&] { return relay_.data_bytes() == before + step * step_bytes; })) << step;
    const std::uint64_t whole = (relay_.data_bytes() - before) / bytes_on_the_wire;
    ASSERT_TRUE(eventually([&] {
      if (const auto frame = subscriber_.next()) {
        ++received;
        const std::uint64_t age_steps = step - frame->header().sequence + 1;
        oldest_steps = std::max(oldest_steps, age_steps);
        newest_steps = std::min(newest_steps, age_steps);
      }
      return received == whole;
    })) << received;
  }
  EXPECT_GE(received, frames - 1);
  EXPECT_GE(newest_steps, steps_per_frame) << "this wire is not slow";
  EXPECT_LE(oldest_steps, 2 * steps_per_frame);
}

}  // namespace
}  // namespace framewire
