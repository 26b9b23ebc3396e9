// What becomes of frames in the sender's memory when a session over `local` ends and others of its stream go on.
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <cstdint>
#include <optional>

#include "base/clock.hpp"
#include "base/file_descriptor.hpp"
#include "tests/base/eventually.hpp"
#include "tests/transport/attached_viewer.hpp"
#include "tests/transport/pattern_sender.hpp"
#include "transport/control/message_channel.hpp"

namespace framewire {
namespace {

using test::eventually;

constexpr std::uint32_t slots = 3;

class Withdrawal : public testing::Test, protected test::PatternSender {
 protected:
  void start_sender(std::uint64_t frames) {
    run_sender({.name = "test", .delivery = Delivery::every, .slots_per_viewer = slots, .max_frames = frames},
               over_local(), 0, [this] {
                 stream_->begin_epoch({.layout = bytes_layout(5000), .colour = {}});
                 while (publish_frame()) {
                 }
                 stream_->finish();
               });
  }

  SubscriberOptions dialling() const {
    SubscriberOptions options = dialling_sender(over_local());
    options.reconnect = false;
    return options;
  }

 private:
  static EndpointOptions over_local() {
    EndpointOptions endpoint;
    endpoint.allowed_links = {LinkKind::local};
    return endpoint;
  }
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
  ASSERT_EQ(take_all(goes_on, 100), 100U) << "in all slots";
  EXPECT_EQ(take_all(takes_one), 0U);
  EXPECT_TRUE(held->is_withdrawn());
  EXPECT_FALSE(held->is_session_open());
  const SubscriberCounts counts = takes_one.counts();
  ASSERT_TRUE(eventually([&] { return service_->reports().size() == 1; })) << "its report is the first one";
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
  EXPECT_EQ(take_all(subscriber), slots);
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
