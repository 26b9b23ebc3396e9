// What becomes of frames in the sender's memory when a session over `local` ends and others of its stream go on.
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/socket.h>

#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/clock.hpp"
#include "base/file_descriptor.hpp"
#include "frame/test_pattern.hpp"
#include "tests/base/eventually.hpp"
#include "tests/base/logs.hpp"
#include "tests/base/temporary_folder.hpp"
#include "tests/transport/attached_viewer.hpp"
#include "transport/control/message_channel.hpp"
#include "transport/session/sender_service.hpp"
#include "transport/session/subscriber.hpp"

namespace framewire {
namespace {

using test::eventually;

constexpr std::uint32_t slots = 3;

/// Uses a configuration folder without a key, so that this machine's own key has no effect.
class Withdrawal : public testing::Test {
 protected:
  Withdrawal() {
    ::setenv("XDG_CONFIG_HOME", folder_.path().c_str(), 1);
    endpoint_.allowed_links = {LinkKind::local};
  }
  ~Withdrawal() override { stop_sender(); }

  void start_sender(std::uint64_t frames) {
    stream_ = std::make_unique<Stream>(
        StreamOptions{.name = "test", .delivery = Delivery::every, .slots_per_viewer = slots, .max_frames = frames});
    EndpointOptions listening = endpoint_;
    listening.listen = HostPort{"127.0.0.1", 0};
    service_ = std::make_unique<SenderService>(listening, std::vector<Stream*>{stream_.get()}, "test", log_);
    source_ = std::thread([this] {
      stream_->begin_epoch({.layout = bytes_layout(5000), .colour = {}});
      while (auto slot = stream_->claim()) {
        write_test_lines(slot->bytes(), slot->next_sequence());
        stream_->publish(std::move(*slot), {.has_test_pattern = true, .layout = {}});
      }
      stream_->finish();
    });
  }

  void stop_sender(std::int64_t timeout_ns = 2 * ns_per_s) {
    if (!stream_) {
      return;
    }
    stream_->stop();
    source_.join();
    service_->drain(monotonic_ns() + timeout_ns);
    reports_ = service_->reports();
    service_.reset();
    stream_.reset();
  }

  SubscriberOptions dialling() const {
    SubscriberOptions options{.endpoint = endpoint_, .stream = {}, .delivery = {}};
    options.endpoint.dial = HostPort{"127.0.0.1", service_->port()};
    options.reconnect = false;
    return options;
  }

  /// Receives frames until the session is over or `enough` have arrived. Returns their number.
  static std::uint64_t take_whole_ones(Subscriber& subscriber, std::uint64_t enough = UINT64_MAX) {
    std::uint64_t count = 0;
    EXPECT_TRUE(eventually([&] {
      while (count < enough) {
        const auto frame = subscriber.next();
        if (!frame) {
          break;
        }
        EXPECT_FALSE(find_torn_line(frame->payload(), frame->header().sequence));
        ++count;
      }
      const SubscriberState state = subscriber.status().state;
      if (count >= enough || state == SubscriberState::finished || state == SubscriberState::failed) {
        return true;
      }
      subscriber.wait(monotonic_ns() + 50 * ns_per_ms);
      return false;
    }));
    return count;
  }

  test::TemporaryFolder folder_;
  test::ShownLog log_;
  EndpointOptions endpoint_;
  std::unique_ptr<Stream> stream_;
  std::unique_ptr<SenderService> service_;
  std::thread source_;
  std::vector<SessionReport> reports_;
};

TEST_F(Withdrawal, WhatWasNotTakenIsLostAndNotTorn) {
  start_sender(0);
  FileDescriptor control;
  SubscriberOptions options = dialling();
  options.before_hello = [&](const MessageChannel& channel) { control = duplicate(channel.fd()); };
  Subscriber takes_one(options, log_);
  std::optional<ReceivedFrame> held;
  ASSERT_TRUE(eventually([&] { return (held = takes_one.next()).has_value(); }));
  ASSERT_TRUE(eventually([&] { return stream_->frames_produced() >= slots; }));
  EXPECT_FALSE(held->is_withdrawn());
  Subscriber goes_on(dialling(), log_);
  ::shutdown(control.get(), SHUT_RDWR);
  ASSERT_TRUE(eventually([&] { return takes_one.status().state == SubscriberState::failed; }));
  ASSERT_EQ(take_whole_ones(goes_on, 100), 100U) << "in all slots";
  EXPECT_EQ(take_whole_ones(takes_one), 0U);
  EXPECT_TRUE(held->is_withdrawn());
  EXPECT_FALSE(held->is_session_open());
  const SubscriberCounts counts = takes_one.counts();
  goes_on.close({});
  stop_sender();
  ASSERT_EQ(reports_.size(), 2U);
  EXPECT_EQ(reports_[0].counts.frames_sent, slots);
  EXPECT_EQ(counts.frames_received, 1U);
  EXPECT_EQ(counts.frames_lost, slots - 1U);
}

/// Nobody gets new frames there, so that a viewer that was too slow for its sender has them all the same.
TEST_F(Withdrawal, WhatWasSentBeforeTheSourceEndedStaysWhole) {
  start_sender(slots);
  Subscriber subscriber(dialling(), log_);
  ASSERT_TRUE(eventually([&] { return stream_->is_finished(); }));
  stop_sender(ns_per_s / 5);  // this viewer exceeds the time limit
  EXPECT_EQ(take_whole_ones(subscriber), slots);
  EXPECT_EQ(subscriber.status().state, SubscriberState::finished) << subscriber.status().message;
  EXPECT_EQ(subscriber.counts().frames_lost, 0U);
}

/// Only there is a link told under the mutex under which slots are claimed.
TEST(WithdrawalByItsStream, ComesBeforeASlotIsFree) {
  Stream stream({.name = "test"});
  stream.begin_epoch({.layout = bytes_layout(100), .colour = {}});
  test::AttachedViewer leaves(stream, Delivery::latest);
  test::AttachedViewer stays(stream, Delivery::latest);
  leaves.leave();
  EXPECT_TRUE(leaves.link.is_withdrawn);
  stream.stop();
  stream.finish();
  stays.leave();
  EXPECT_FALSE(stays.link.is_withdrawn) << "nobody writes there again";
}

}  // namespace
}  // namespace framewire
