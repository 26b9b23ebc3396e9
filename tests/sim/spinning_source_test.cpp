// A source that spins, and its viewer, on a simulated machine.
#include <gtest/gtest.h>
#include <stdlib.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <thread>
#include <utility>
#include <vector>

#include "base/clock.hpp"
#include "tests/base/logs.hpp"
#include "tests/base/temporary_folder.hpp"
#include "tests/sim/world.hpp"
#include "transport/session/sender_service.hpp"
#include "transport/session/subscriber.hpp"

namespace framewire::sim {
namespace {

constexpr std::uint32_t slots = 2;

class SpinningSource : public testing::TestWithParam<LinkKind> {
 protected:
  SpinningSource() {
    ::setenv("XDG_CONFIG_HOME", folder_.path().c_str(), 1);
    stream_.begin_epoch({.layout = bytes_layout(100), .colour = {}});
  }

  [[nodiscard]] static EndpointOptions endpoint() {
    EndpointOptions options;
    options.allowed_links = {GetParam()};
    options.insecure = true;
    return options;
  }
  [[nodiscard]] EndpointOptions listening() const {
    EndpointOptions options = endpoint();
    options.listen = HostPort{"127.0.0.1", 0};
    return options;
  }
  [[nodiscard]] SubscriberOptions dialling() const {
    SubscriberOptions options;
    options.endpoint = endpoint();
    options.endpoint.dial = HostPort{"127.0.0.1", service_.port()};
    return options;
  }

  void publish(std::uint32_t count) {
    while (count > 0) {
      if (auto slot = stream_.claim_now()) {
        stream_.publish(std::move(*slot), {});
        --count;
      } else {
        std::this_thread::sleep_for(std::chrono::milliseconds(1));  // the last credits are on their way
      }
    }
  }

  /// False: they have not come in time.
  static bool take(Subscriber& viewer, std::size_t count, std::vector<ReceivedFrame>& frames) {
    const std::int64_t deadline_ns = monotonic_ns() + 10 * ns_per_s;
    while (frames.size() < count && monotonic_ns() < deadline_ns) {
      if (auto frame = viewer.next()) {
        frames.push_back(std::move(*frame));
      } else {
        viewer.wait(deadline_ns, WaitMode::block);
      }
    }
    return frames.size() == count;
  }

  test::TemporaryFolder folder_;
  test::KeptLog log_;
  Stream stream_{{.name = "test", .delivery = Delivery::every, .slots_per_viewer = slots, .wait = WaitMode::spin}};
  SenderService service_{listening(), {&stream_}, "test", log_};
};

/// Then nobody but the session can send the frames that wait. It looks five times a second, whatever happens.
TEST_P(SpinningSource, MayDoSomethingElseWhileItsLastFramesWaitForCredits) {
  Subscriber viewer(dialling(), log_);
  ASSERT_TRUE(stream_.wait_for_ready_viewer());
  std::vector<ReceivedFrame> held;
  for (int round = 0; round < 10; ++round) {
    publish(2 * slots);
    EXPECT_FALSE(stream_.claim_now()) << "half of them wait for credits";
    ASSERT_TRUE(take(viewer, slots, held)) << viewer.status().message;
    std::this_thread::sleep_for(std::chrono::nanoseconds(World::current()->below(5 * ns_per_ms)));
    const std::int64_t returned_ns = monotonic_ns();
    held.clear();
    ASSERT_TRUE(take(viewer, slots, held)) << viewer.status().message;
    EXPECT_LT(monotonic_ns() - returned_ns, 10 * ns_per_ms);
    held.clear();
  }
  stream_.finish();
  viewer.close("{}");
}

INSTANTIATE_TEST_SUITE_P(Links, SpinningSource, testing::Values(LinkKind::local, LinkKind::tcp),
                         [](const auto& link) { return std::string(name(link.param)); });

}  // namespace
}  // namespace framewire::sim
