// Whole sessions in one process: a real service and real subscribers, over the Unix socket and over TCP.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "frame/test_pattern.hpp"
#include "tests/base/eventually.hpp"
#include "tests/base/held_port.hpp"
#include "tests/base/logs.hpp"
#include "tests/transport/pattern_sender.hpp"
#include "tests/transport/relay.hpp"
#include "transport/session/sender_service.hpp"
#include "transport/session/subscriber.hpp"

namespace framewire {
namespace {

using test::eventually;

struct Way {
  LinkKind link;
  bool encrypt;
};

class Sessions : public testing::TestWithParam<Way>, protected test::PatternSender {
 protected:
  ~Sessions() override { stop_sender(); }

  EndpointOptions endpoint() const {
    EndpointOptions options;
    options.allowed_links = {GetParam().link};
    options.encrypt = GetParam().encrypt;
    options.insecure = is_insecure_;
    options.may_choose_link = false;
    return options;
  }

  void start_sender(StreamOptions options, std::uint64_t frames, std::uint16_t port = 0) {
    options.name = "test";
    options.max_frames = frames;
    run_sender(options, endpoint(), port, [this] { produce(); });
  }

  void produce() {
    std::uint64_t produced = 0;
    stream_->begin_epoch({.layout = bytes_layout(5000), .colour = {}});
    while (publish_frame()) {
      ++produced;
      if (changes_all_the_time_ ? produced % 3 == 0 : produced == 50) {
        stream_->begin_epoch({.layout = bytes_layout(5000 + produced % 4096), .colour = {}});
      }
    }
    stream_->finish();
  }

  SubscriberOptions dialling() const { return dialling_sender(endpoint()); }

  /// Waits for the first frame; returns its sequence number.
  static std::uint64_t take_first(Subscriber& subscriber) {
    std::uint64_t sequence = UINT64_MAX;
    EXPECT_TRUE(eventually([&] {
      subscriber.confirm_epoch(subscriber.status().epochs_begun);  // the format may change once more
      const auto frame = subscriber.next();
      sequence = frame ? frame->header().sequence : sequence;
      return frame.has_value();
    }));
    return sequence;
  }

  bool changes_all_the_time_ = false;  // whether the format changes again and again, or only once
  bool is_insecure_ = false;
};

TEST_P(Sessions, EveryFrameArrivesAndTheCountsAddUp) {
  start_sender({.delivery = Delivery::every, .slots_per_viewer = 3, .first_sequence = (1ULL << 32) - 20}, 200);
  Subscriber subscriber(dialling(), log_);
  EXPECT_EQ(take_all(subscriber), 200U);
  EXPECT_EQ(subscriber.status().state, SubscriberState::finished);
  EXPECT_EQ(subscriber.status().transport, name(GetParam().link));
  EXPECT_EQ(subscriber.counts().frames_skipped, 0U);
  EXPECT_EQ(subscriber.counts().frames_lost, 0U);
  subscriber.close(R"({"frames_shown":200})");
  stop_sender();
  ASSERT_EQ(reports_.size(), 1U);
  EXPECT_TRUE(reports_[0].bye_received);
  EXPECT_EQ(reports_[0].counts.frames_produced, 200U);
  EXPECT_EQ(reports_[0].counts.frames_sent, 200U);
  EXPECT_EQ(reports_[0].frames_received, 200U);
  EXPECT_EQ(reports_[0].frames_lost, 0U);
  EXPECT_NE(reports_[0].viewer_statistics.find("frames_shown"), std::string::npos);
}

TEST_P(Sessions, WhatACutLeavesIsEitherReceivedOrLost) {
  start_sender({.delivery = Delivery::every, .slots_per_viewer = 3}, 0);
  Subscriber subscriber(dialling(), log_);
  std::optional<ReceivedFrame> held;
  ASSERT_TRUE(eventually([&] { return (held = subscriber.next()).has_value(); }));
  ASSERT_TRUE(eventually([&] { return stream_->frames_produced() > 3; }));
  stop_sender(ns_per_s / 5);  // this viewer exceeds the time limit
  held.reset();
  EXPECT_TRUE(eventually([&] {
    while (subscriber.next()) {  // also frames that arrive after the end of the session
    }
    return subscriber.status().state == SubscriberState::finished;
  }));
  const SubscriberCounts counts = subscriber.counts();
  ASSERT_EQ(reports_.size(), 1U);
  EXPECT_GT(reports_[0].counts.frames_sent, 1U);
  EXPECT_EQ(counts.frames_received + counts.frames_lost, reports_[0].counts.frames_sent);
}

TEST_P(Sessions, TheFormatMayChangeAllTheTime) {
  changes_all_the_time_ = true;
  start_sender({.delivery = Delivery::every}, 300);
  Subscriber subscriber(dialling(), log_);
  EXPECT_EQ(take_all(subscriber), 300U);
  subscriber.close({});
  stop_sender();
  ASSERT_EQ(reports_.size(), 1U);
  EXPECT_EQ(reports_[0].counts.frames_sent, 300U);
  EXPECT_EQ(reports_[0].frames_lost, 0U);
}

TEST_P(Sessions, UnderLatestWhatIsNotSentIsCounted) {
  start_sender({.delivery = Delivery::latest}, 3000);
  Subscriber subscriber(dialling(), log_);
  const std::uint64_t first = take_first(subscriber);
  const std::uint64_t received = 1 + take_all(subscriber);
  subscriber.close({});
  stop_sender();
  ASSERT_EQ(reports_.size(), 1U);
  const SessionReport& report = reports_[0];
  EXPECT_EQ(report.counts.frames_produced, 3000U - first) << "frames before the viewer was ready are not its own";
  EXPECT_EQ(report.counts.frames_produced, report.counts.frames_skipped + report.counts.frames_sent);
  EXPECT_EQ(report.counts.frames_sent, report.frames_received + report.frames_lost);
  EXPECT_EQ(report.frames_received, received);
  EXPECT_GT(received, 0U);
}

TEST_P(Sessions, FramesComeWhenTheProgramIsReadyForThem) {
  start_sender({.delivery = Delivery::latest}, 0);
  SubscriberOptions options = dialling();
  options.confirms_epochs = true;
  Subscriber subscriber(options, log_);
  // Meanwhile the source keeps producing frames and changes its format once.
  EXPECT_TRUE(eventually([&] { return stream_->frames_produced() > 200; }));
  EXPECT_FALSE(subscriber.next());
  EXPECT_GE(take_first(subscriber), 200U);
  subscriber.close({});
  stop_sender();
  ASSERT_EQ(reports_.size(), 1U);
  EXPECT_EQ(reports_[0].counts.frames_produced, reports_[0].counts.frames_skipped + reports_[0].counts.frames_sent);
}

TEST_P(Sessions, AViewerThatLeavesHarmsNobody) {
  start_sender({.delivery = Delivery::latest}, 0);
  Subscriber stays(dialling(), log_);
  for (int i = 0; i < 5; ++i) {
    Subscriber leaves(dialling(), log_);
    EXPECT_EQ(take_all(leaves, 20), 20U);
    EXPECT_GE(take_all(stays, 20), 20U);
  }
  EXPECT_TRUE(eventually([&] { return stream_->viewer_count() == 1; }));
}

TEST_P(Sessions, OneViewerTooManyIsRefusedWithAnError) {
  start_sender({.delivery = Delivery::latest, .max_viewers = 2}, 0);
  Subscriber first(dialling(), log_);
  Subscriber second(dialling(), log_);
  EXPECT_TRUE(eventually([&] { return stream_->viewer_count() == 2; }));
  Subscriber third(dialling(), log_);
  EXPECT_TRUE(eventually([&] { return third.status().state == SubscriberState::failed; }));
  EXPECT_EQ(third.status().exit_status, ExitStatus::refused);
  EXPECT_NE(third.status().message.find("--viewers"), std::string::npos);
  EXPECT_EQ(take_all(first, 10), 10U);
}

TEST_P(Sessions, AViewerWaitsForItsSenderAndComesBackToIt) {
  const test::HeldPort held;
  start_sender({.delivery = Delivery::latest}, 0, held.port());
  const SubscriberOptions options = dialling();
  stop_sender();
  Subscriber subscriber(options, log_);
  EXPECT_TRUE(eventually([&] { return subscriber.status().message.find("nothing listens") != std::string::npos; }));
  EXPECT_EQ(subscriber.status().state, SubscriberState::waiting);
  start_sender({.delivery = Delivery::latest}, 0, held.port());
  EXPECT_EQ(take_all(subscriber, 20), 20U);
  EXPECT_EQ(subscriber.counts().sessions, 1U);
}

TEST_P(Sessions, AStreamThatIsNotThereIsNamed) {
  start_sender({.delivery = Delivery::latest}, 0);
  SubscriberOptions options = dialling();
  options.stream = "nope";
  Subscriber subscriber(options, log_);
  EXPECT_TRUE(eventually([&] { return subscriber.status().state == SubscriberState::failed; }));
  EXPECT_NE(subscriber.status().message.find("'nope'; it has test"), std::string::npos) << subscriber.status().message;
}

TEST_P(Sessions, AViewerMayAskForLessButNotForMore) {
  start_sender({.delivery = Delivery::latest}, 0);
  SubscriberOptions options = dialling();
  options.delivery = Delivery::every;
  Subscriber greedy(options, log_);
  EXPECT_TRUE(eventually([&] { return greedy.status().state == SubscriberState::failed; }));
  EXPECT_EQ(greedy.status().exit_status, ExitStatus::refused);
  stop_sender();
  start_sender({.delivery = Delivery::every}, 0);
  options = dialling();
  options.delivery = Delivery::latest;
  Subscriber modest(options, log_);
  EXPECT_EQ(take_all(modest, 20), 20U);
}

TEST_P(Sessions, TheSenderMayDial) {
  SubscriberOptions options{.endpoint = endpoint(), .stream = {}, .delivery = {}};
  options.endpoint.listen = HostPort{"127.0.0.1", 0};
  Subscriber subscriber(options, log_);
  stream_ = std::make_unique<Stream>(StreamOptions{.name = "test", .delivery = Delivery::every, .max_frames = 100});
  EndpointOptions to = endpoint();
  to.dial = HostPort{"127.0.0.1", subscriber.port()};
  service_ = std::make_unique<SenderService>(to, std::vector<Stream*>{stream_.get()}, "test", log_);
  source_ = std::thread([this] { produce(); });
  EXPECT_EQ(take_all(subscriber), 100U);
  subscriber.close({});
}

TEST_P(Sessions, TwoSendersAreRefusedByEachOther) {
  start_sender({.delivery = Delivery::latest}, 0);
  EndpointOptions to = endpoint();
  to.dial = HostPort{"127.0.0.1", service_->port()};
  Stream stream(StreamOptions{.name = "other"});
  SenderService other(to, {&stream}, "test", log_);
  EXPECT_TRUE(eventually([&] { return other.refusal().find("both ends are a sender") != std::string::npos; }));
}

constexpr std::int64_t own_period_ns = 16'683'333;

TEST_P(Sessions, AViewerSaysWhenTheSourceRendersUntilItLeaves) {
  start_sender({.delivery = Delivery::latest}, 0);
  SourceCadence& cadence = stream_->cadence();
  cadence.offer(own_period_ns);
  std::optional<CadenceRequest> change;
  const auto has_change = [&] { return (change = cadence.take_change()).has_value(); };
  Subscriber first(dialling(), log_);
  Subscriber second(dialling(), log_);
  ASSERT_EQ(take_all(first, 1), 1U);
  ASSERT_EQ(take_all(second, 1), 1U);
  const CadenceRequest request{.period_ns = 16'666'667, .shift_ns = -2 * ns_per_ms};
  first.ask_cadence(request);
  ASSERT_TRUE(eventually(has_change));
  EXPECT_EQ(change, request);
  second.ask_cadence(request);
  ASSERT_TRUE(eventually([&] { return !second.status().cadence_refusal.empty(); }));
  EXPECT_NE(second.status().cadence_refusal.find("another viewer"), std::string::npos);
  EXPECT_EQ(first.status().cadence_refusal, "");
  EXPECT_FALSE(cadence.take_change());
  first.close({});
  ASSERT_TRUE(eventually(has_change));
  EXPECT_EQ(change, (CadenceRequest{.period_ns = own_period_ns, .shift_ns = 0}));
  second.ask_cadence({.period_ns = own_period_ns, .shift_ns = 5});
  ASSERT_TRUE(eventually(has_change));
  EXPECT_EQ(change->shift_ns, 5);
}

TEST_P(Sessions, ARefusedCadenceHarmsNoSession) {
  start_sender({.delivery = Delivery::latest}, 0);
  Subscriber subscriber(dialling(), log_);
  const auto refusal_has = [&](const char* text) {
    return eventually([&] { return subscriber.status().cadence_refusal.find(text) != std::string::npos; });
  };
  ASSERT_EQ(take_all(subscriber, 1), 1U);
  subscriber.ask_cadence({.period_ns = own_period_ns, .shift_ns = 0});
  EXPECT_TRUE(refusal_has("times of its own"));
  stream_->cadence().offer(own_period_ns);
  subscriber.ask_cadence({.period_ns = 2 * own_period_ns, .shift_ns = INT64_MIN});
  EXPECT_TRUE(refusal_has("too far"));
  EXPECT_FALSE(stream_->cadence().take_change());
  EXPECT_EQ(take_all(subscriber, 20), 20U);
  EXPECT_EQ(subscriber.counts().sessions, 1U);
}

/// Finds the first header with a sequence number above 3 and replaces the number. False if there is no such header.
bool renumber_frame(std::span<std::byte> bytes, std::uint64_t sequence) {
  const std::array magic{std::byte{'F'}, std::byte{'W'}, std::byte{'F'}, std::byte{'1'}};
  for (auto at = bytes.begin(); (at = std::search(at, bytes.end(), magic.begin(), magic.end())) != bytes.end(); ++at) {
    FrameHeader header;
    const auto here = std::span(at, bytes.end());
    const auto size = here.size() < 8 ? std::nullopt : header_bytes_from_prefix(here.first<8>());
    if (size && here.size() >= *size && decode(here.first(*size), header) == HeaderFault::none && header.sequence > 3) {
      header.sequence = sequence;
      encode(header, here);
      return true;
    }
  }
  return false;
}

bool make_frame_go_back(std::span<std::byte> bytes) {
  return renumber_frame(bytes, 0);
}

class SessionsThroughARelay : public Sessions {
 protected:
  SessionsThroughARelay() { is_insecure_ = true; }  // the viewer cannot know that the relay belongs to this user

  SubscriberOptions dialling_relay(std::uint16_t port) const {
    SubscriberOptions options = dialling();
    options.endpoint.dial->port = port;
    return options;
  }

  /// Receives frames until `is_enough`. Checks that sequence numbers increase within a session.
  static void take_until(Subscriber& subscriber, const std::function<bool()>& is_enough) {
    std::uint64_t session = 0;
    std::uint64_t next_sequence = 0;
    EXPECT_TRUE(eventually([&] {
      for (auto frame = subscriber.next(); frame && !is_enough(); frame = subscriber.next()) {
        next_sequence = frame->session_number() == session ? next_sequence : 0;
        session = frame->session_number();
        EXPECT_GE(frame->header().sequence, next_sequence);
        next_sequence = frame->header().sequence + 1;
      }
      subscriber.wait(monotonic_ns() + 50 * ns_per_ms);
      return is_enough();
    }));
  }

  test::KeptLog subscribers_;
};

TEST_P(SessionsThroughARelay, FramesThatGoBackEndTheSession) {
  start_sender({.delivery = Delivery::every}, 0);
  test::Relay relay(service_->port());
  Subscriber subscriber(dialling_relay(relay.port()), subscribers_);
  take_until(subscriber, [&] { return subscriber.counts().frames_received > 10; });
  relay.change(make_frame_go_back);
  take_until(subscriber, [&] { return subscriber.counts().sessions == 2; });
  EXPECT_NE(subscribers_.text().find("lost the sender: the sender is not to be believed: it sent frame 0 after frame "),
            std::string::npos)
      << subscribers_.text();
  const std::uint64_t before = subscriber.counts().frames_received;
  take_until(subscriber, [&] { return subscriber.counts().frames_received > before + 10; });
}

TEST_P(SessionsThroughARelay, WhatArrivedBeforeACutIsThePrograms) {
  constexpr std::uint32_t slots = 8;
  start_sender({.delivery = Delivery::every, .slots_per_viewer = slots}, 0);
  auto relay = std::make_unique<test::Relay>(service_->port());
  SubscriberOptions options = dialling_relay(relay->port());
  options.reconnect = false;
  Subscriber subscriber(options, subscribers_);
  // The viewer returns no credit, so this is all that the sender can send.
  ASSERT_TRUE(eventually([&] {
    subscriber.confirm_epoch(subscriber.status().epochs_begun);
    return relay->data_bytes() >= slots * 5000;
  }));
  relay.reset();
  ASSERT_TRUE(eventually([&] { return subscriber.status().state == SubscriberState::failed; }));
  EXPECT_GE(take_all(subscriber), slots - 1) << "the last one may be cut, or on its way in the relay";
}

TEST_P(SessionsThroughARelay, AProgramThatTakesNothingKeepsTwoSessions) {
  constexpr std::uint64_t last = 5;
  start_sender({.delivery = Delivery::every}, 0);
  test::Relay relay(service_->port());
  Subscriber subscriber(dialling_relay(relay.port()), subscribers_);
  for (std::uint64_t session = 1; session <= last; ++session) {
    const std::uint64_t before = relay.data_bytes();
    ASSERT_TRUE(eventually([&] {
      subscriber.confirm_epoch(subscriber.status().epochs_begun);
      return subscriber.counts().sessions == session && relay.data_bytes() > before + 10'000;
    }));
    if (session < last) {
      relay.cut();
    }
  }
  std::uint64_t first_taken = 0;
  EXPECT_TRUE(eventually([&] {
    const auto frame = subscriber.next();
    first_taken = first_taken == 0 && frame ? frame->session_number() : first_taken;
    return frame && frame->session_number() == last;
  }));
  EXPECT_GE(first_taken, last - 1);
  EXPECT_GE(subscriber.counts().frames_lost, 1U);
}

TEST_P(SessionsThroughARelay, AFrameThatLeapsAheadEndsTheSessionAndCountsForNothing) {
  start_sender({.delivery = Delivery::every}, 0);
  test::Relay relay(service_->port());
  Subscriber subscriber(dialling_relay(relay.port()), subscribers_);
  relay.change([](std::span<std::byte> bytes) { return renumber_frame(bytes, UINT64_MAX); });
  take_until(subscriber, [&] { return subscriber.counts().sessions == 2; });
  EXPECT_NE(subscribers_.text().find("it sent frame 18446744073709551615 after frame "), std::string::npos)
      << subscribers_.text();
  EXPECT_EQ(subscriber.counts().frames_skipped, 0U);
}

/// While no frame can come, only the goodbye wakes the program: so the test knows that the viewer has it.
TEST_P(SessionsThroughARelay, FramesThatGoBackBehindTheGoodbyeAreLost) {
  start_sender({.delivery = Delivery::every, .slots_per_viewer = 8}, 8);
  test::Relay relay(service_->port());
  relay.change(make_frame_go_back);
  SubscriberOptions options = dialling_relay(relay.port());
  options.reconnect = false;
  options.confirms_epochs = true;
  Subscriber subscriber(options, log_);
  ASSERT_TRUE(eventually([&] { return subscriber.status().epochs_begun == 1 && subscriber.arm(); }));
  relay.hold(true);
  subscriber.confirm_epoch(1);
  ASSERT_TRUE(eventually([&] { return !subscriber.arm(); }));
  relay.hold(false);
  take_until(subscriber, [&] { return subscriber.status().state == SubscriberState::failed; });
  EXPECT_NE(subscriber.status().message.find("not to be believed"), std::string::npos) << subscriber.status().message;
  EXPECT_EQ(subscriber.status().exit_status, ExitStatus::lost_peer);
  EXPECT_GE(subscriber.counts().frames_received, 4U);
  EXPECT_GE(subscriber.counts().frames_lost, 1U);
  EXPECT_EQ(subscriber.counts().frames_received + subscriber.counts().frames_lost, 8U);
}

TEST_P(SessionsThroughARelay, ARefusedCadenceIsForgottenWithTheSession) {
  start_sender({.delivery = Delivery::every}, 0);
  test::Relay relay(service_->port());
  Subscriber subscriber(dialling_relay(relay.port()), subscribers_);
  take_until(subscriber, [&] { return subscriber.counts().frames_received > 10; });
  subscriber.ask_cadence({.period_ns = own_period_ns, .shift_ns = 0});
  take_until(subscriber, [&] { return !subscriber.status().cadence_refusal.empty(); });
  relay.change(make_frame_go_back);
  take_until(subscriber, [&] { return subscriber.counts().sessions == 2; });
  EXPECT_EQ(subscriber.status().cadence_refusal, "");
}

INSTANTIATE_TEST_SUITE_P(Tcp, SessionsThroughARelay, testing::Values(Way{LinkKind::tcp, false}));

INSTANTIATE_TEST_SUITE_P(
    Links, Sessions, testing::Values(Way{LinkKind::local, false}, Way{LinkKind::tcp, false}, Way{LinkKind::tcp, true}),
    [](const auto& mode) { return std::string(name(mode.param.link)) + (mode.param.encrypt ? "_tls" : ""); });

}  // namespace
}  // namespace framewire
