// Logs and programs that ask a service or a subscriber while it tells them something.
#include <gtest/gtest.h>
#include <stdlib.h>

#include <atomic>
#include <cstdlib>
#include <functional>
#include <string>
#include <string_view>
#include <utility>

#include "base/clock.hpp"
#include "base/wait.hpp"
#include "tests/base/eventually.hpp"
#include "tests/base/logs.hpp"
#include "tests/base/temporary_folder.hpp"
#include "tests/transport/relay.hpp"
#include "transport/session/sender_service.hpp"
#include "transport/session/subscriber.hpp"

namespace framewire {
namespace {

using test::eventually;
using test::timeout_ns;

/// Asks a question at each line that begins so, as a program's log may. Waits until it is known whom to ask.
class AskingLog final : public Log {
 public:
  explicit AskingLog(std::string beginning) : beginning_(std::move(beginning)) {}
  void ask(std::function<void()> question) {
    question_ = std::move(question);
    knows_ = true;
  }
  void line(LogLevel /*level*/, std::string_view text) override {
    if (text.starts_with(beginning_) && eventually([&] { return knows_.load(); })) {
      question_();
      has_answer_ = true;
    }
  }
  /// Otherwise ends the program, because the thread that asks could not be joined.
  void expect_answer() {
    if (!eventually([&] { return has_answer_.load(); })) {
      ADD_FAILURE() << "no line, or no answer";
      std::_Exit(1);
    }
  }

 private:
  const std::string beginning_;
  std::function<void()> question_;
  std::atomic<bool> knows_ = false;
  std::atomic<bool> has_answer_ = false;
};

/// Uses a configuration folder without a key, so that this machine's own key has no effect.
class SessionLogs : public testing::Test {
 protected:
  SessionLogs() { ::setenv("XDG_CONFIG_HOME", folder_.path().c_str(), 1); }

  static EndpointOptions listening() {
    EndpointOptions options;
    options.insecure = true;  // nobody knows that the relay belongs to this user
    options.listen = HostPort{"127.0.0.1", 0};
    return options;
  }
  static EndpointOptions dialling(std::uint16_t port) {
    EndpointOptions options;
    options.insecure = true;
    options.dial = HostPort{"127.0.0.1", port};
    return options;
  }

  test::TemporaryFolder folder_;
  test::KeptLog log_;
  Stream stream_{StreamOptions{.name = "test"}};
};

TEST_F(SessionLogs, MayAskTheSubscriberThatHasLostItsSender) {
  AskingLog asking("lost the sender");
  const SenderService service(listening(), {&stream_}, "test", log_);
  test::Relay relay(service.port());
  Subscriber subscriber({.endpoint = dialling(relay.port()), .stream = {}, .delivery = {}}, asking);
  asking.ask([&] { static_cast<void>(subscriber.status()); });
  ASSERT_TRUE(eventually([&] { return subscriber.status().state == SubscriberState::connected; }));
  relay.cut();
  asking.expect_answer();
}

TEST_F(SessionLogs, MayAskTheServiceThatDialsInVain) {
  AskingLog asking("");
  const SenderService service(dialling(1), {&stream_}, "test", asking);
  asking.ask([&] { EXPECT_FALSE(service.last_dial_failure().why.empty()); });
  asking.expect_answer();
}

TEST_F(SessionLogs, AProgramIsToldThatNoViewerWillCome) {
  const SenderService other(listening(), {&stream_}, "test", log_);  // two senders refuse each other
  Stream refused({.name = "refused"});
  const SenderService* asked = nullptr;
  std::atomic<bool> knows = false;
  std::atomic<bool> is_told = false;
  ASSERT_TRUE(refused.arm());
  const SenderService service(dialling(other.port()), {&refused}, "test", log_, [&] {
    EXPECT_TRUE(eventually([&] { return knows.load(); }));
    is_told = !asked->refusal().empty();
    refused.wake();
  });
  asked = &service;
  knows = true;
  ASSERT_TRUE(wait_for(refused.descriptor(), POLLIN, monotonic_ns() + timeout_ns));
  EXPECT_TRUE(is_told);
  EXPECT_FALSE(refused.claim()) << "it does not wait";
}

/// Without SubscriberOptions::on_finished a viewer says goodbye when its program closes it.
TEST_F(SessionLogs, AViewerThatHasAllFramesIsNotSaidToHaveMissedSome) {
  for (const bool takes : {false, true}) {
    test::KeptLog log;
    Stream stream{StreamOptions{.name = "test", .delivery = Delivery::every}};
    stream.begin_epoch({.layout = bytes_layout(100), .colour = {}});
    EndpointOptions listening;
    listening.listen = HostPort{"127.0.0.1", 0};
    SenderService service(listening, {&stream}, "test", log);
    SubscriberOptions options{.endpoint = {}, .stream = {}, .delivery = {}};
    options.endpoint.dial = HostPort{"127.0.0.1", service.port()};
    Subscriber subscriber(options, log);
    auto slot = stream.claim({.deadline_ns = monotonic_ns() + timeout_ns});
    ASSERT_TRUE(slot);
    stream.publish(std::move(*slot), {});
    EXPECT_TRUE(!takes || eventually([&] { return subscriber.next().has_value(); }));
    stream.finish();
    service.drain(monotonic_ns() + 100 * ns_per_ms);
    ASSERT_EQ(service.reports().size(), 1U);
    EXPECT_EQ(service.reports().front().ending, takes ? "the viewer took all frames, but did not say goodbye in time"
                                                      : "the viewer did not take the last frames in time");
  }
}

}  // namespace
}  // namespace framewire
