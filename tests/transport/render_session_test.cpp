// Frames that viewers ask for, in whole sessions in one process.
#include <gtest/gtest.h>
#include <stdlib.h>

#include <optional>
#include <thread>
#include <vector>

#include "base/clock.hpp"
#include "tests/base/eventually.hpp"
#include "tests/base/logs.hpp"
#include "tests/base/temporary_folder.hpp"
#include "transport/session/sender_service.hpp"
#include "transport/session/subscriber.hpp"

namespace framewire {
namespace {

using test::eventually;

/// A sender of small frames, which go on whatever is asked for.
class RenderSessions : public testing::Test {
 protected:
  RenderSessions() {
    ::setenv("XDG_CONFIG_HOME", folder_.path().c_str(), 1);
    EndpointOptions listening;
    listening.listen = HostPort{"127.0.0.1", 0};
    service_.emplace(listening, std::vector<Stream*>{&stream_}, "test", log_);
    source_ = std::thread([this] {
      stream_.begin_epoch({.layout = bytes_layout(64), .colour = {}});
      while (auto slot = stream_.claim()) {
        stream_.publish(std::move(*slot), {.layout = {}});
      }
      stream_.finish();
    });
  }
  ~RenderSessions() override {
    stream_.stop();
    source_.join();
    service_->drain(monotonic_ns() + 2 * ns_per_s);
  }

  [[nodiscard]] SubscriberOptions dialling() const {
    SubscriberOptions options{.endpoint = {}, .stream = {}, .delivery = {}};
    options.endpoint.dial = HostPort{"127.0.0.1", service_->port()};
    return options;
  }

  /// Takes so many frames, if they come.
  static std::uint64_t take(Subscriber& subscriber, std::uint64_t enough) {
    std::uint64_t count = 0;
    eventually([&] {
      while (count < enough && subscriber.next()) {
        ++count;
      }
      subscriber.wait(monotonic_ns() + (count < enough ? 50 * ns_per_ms : 0));
      return count >= enough;
    });
    return count;
  }

  test::TemporaryFolder folder_;
  test::ShownLog log_;
  Stream stream_{{.name = "test"}};
  std::optional<SenderService> service_;
  std::thread source_;
};

TEST_F(RenderSessions, OneViewerOwnsTheCameraAndTheOthersAreToldWhatItAsksFor) {
  RenderRequests& renders = stream_.renders();
  renders.offer();
  Subscriber first(dialling(), log_);
  Subscriber second(dialling(), log_);
  ASSERT_EQ(take(first, 1), 1U);
  ASSERT_EQ(take(second, 1), 1U);
  std::optional<RenderRequest> asked;
  const auto is_asked = [&] { return (asked = stream_.next_render(0)).has_value(); };
  const RenderRequest request{.id = 41, .camera = orbiting_camera(0.3, 0.2, 5), .time_ns = 17};
  first.ask_render(request);
  ASSERT_TRUE(eventually(is_asked));
  EXPECT_EQ(asked, request);
  ASSERT_TRUE(eventually([&] { return second.find_render(41).has_value() && first.find_render(41).has_value(); }));
  EXPECT_EQ(second.find_render(41), request);
  EXPECT_FALSE(second.find_render(40));
  second.ask_render({.id = 90});
  ASSERT_TRUE(eventually([&] { return second.status().render_refusals == 1; }));
  EXPECT_NE(second.status().render_refusal.text.find("another viewer"), std::string::npos);
  EXPECT_EQ(second.status().render_refusal.reason, RenderRefusal::Reason::owned);
  EXPECT_EQ(second.status().render_refusal.id, 90U);
  EXPECT_EQ(first.status().render_refusals, 0U);
  first.ask_render({.id = 42});
  first.revoke_render(42);
  first.release_camera();
  ASSERT_TRUE(eventually([&] { return !renders.is_driven(); }));
  second.ask_render({.id = 91});
  ASSERT_TRUE(eventually(is_asked));
  EXPECT_EQ(asked->id, 91U);
  second.close({});
  ASSERT_TRUE(eventually([&] { return !renders.is_driven(); })) << "its owner has left";
}

TEST_F(RenderSessions, ARefusedRenderHarmsNoSession) {
  Subscriber subscriber(dialling(), log_);
  subscriber.ask_render({.id = 1});  // there may be no session yet
  ASSERT_EQ(take(subscriber, 1), 1U);
  subscriber.ask_render({.id = 2});
  ASSERT_TRUE(eventually([&] { return subscriber.status().render_refusals > 0; }));
  EXPECT_NE(subscriber.status().render_refusal.text.find("does not render on request"), std::string::npos);
  EXPECT_EQ(subscriber.status().render_refusal.reason, RenderRefusal::Reason::unsupported);
  EXPECT_FALSE(subscriber.find_render(2));
  EXPECT_EQ(take(subscriber, 20), 20U);
  EXPECT_EQ(subscriber.counts().sessions, 1U);
}

}  // namespace
}  // namespace framewire
