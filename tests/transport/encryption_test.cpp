// Whole sessions with --encrypt: one side requests it, a side requires it, a man in the middle reads or changes bytes,
// and the cases that are refused.
#include <gtest/gtest.h>
#include <stdlib.h>

#include <atomic>
#include <cstring>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "tests/base/eventually.hpp"
#include "tests/base/logs.hpp"
#include "tests/base/temporary_folder.hpp"
#include "tests/transport/relay.hpp"
#include "transport/session/handshake.hpp"
#include "transport/session/sender_service.hpp"
#include "transport/session/subscriber.hpp"

namespace framewire {
namespace {

using test::eventually;
using test::Relay;
using test::timeout_ns;

constexpr std::string_view secret = "what stands on somebody's screen. ";
constexpr std::uint64_t frame_bytes = 50'000;

bool is_secret(std::span<const std::byte> payload) {
  for (std::size_t i = 0; i < payload.size(); ++i) {
    if (payload[i] != static_cast<std::byte>(secret[i % secret.size()])) {
      return false;
    }
  }
  return payload.size() == frame_bytes;
}

class Encryption : public testing::Test {
 protected:
  Encryption() {
    ::setenv("XDG_CONFIG_HOME", folder_.path().c_str(), 1);
    std::ranges::fill(key_.bytes(), std::byte{0x5a});
  }
  ~Encryption() override { stop(); }

  EndpointOptions endpoint(bool encrypt) const {
    EndpointOptions options;
    options.encrypt = encrypt;
    std::ranges::copy(key_.bytes(), options.one_time_key.emplace().bytes().begin());
    return options;
  }

  void start_sender(EndpointOptions options) {
    if (!options.dial) {
      options.listen = HostPort{"127.0.0.1", 0};
    }
    stream_ = std::make_unique<Stream>(StreamOptions{.name = "test", .delivery = Delivery::every});
    stream_->begin_epoch({.layout = bytes_layout(frame_bytes), .colour = {}});
    service_ = std::make_unique<SenderService>(options, std::vector<Stream*>{stream_.get()}, "test", log_);
    source_ = std::thread([this] {
      while (auto slot = stream_->claim()) {
        const auto bytes = slot->bytes();
        for (std::size_t i = 0; i < bytes.size(); ++i) {
          bytes[i] = static_cast<std::byte>(secret[i % secret.size()]);
        }
        stream_->publish(std::move(*slot), {.layout = {}});
      }
      stream_->finish();
    });
  }

  void stop() {
    if (stream_) {
      stream_->stop();
      source_.join();
      service_->drain(monotonic_ns() + ns_per_s);
      service_.reset();
      stream_.reset();
    }
  }

  SubscriberOptions dialling(EndpointOptions options, std::uint16_t port = 0) const {
    options.dial = HostPort{"127.0.0.1", port != 0 ? port : service_->port()};
    return {.endpoint = options, .stream = {}, .delivery = {}};
  }

  /// Receives at least `enough` frames, checks each, and returns their number. Fewer if the session fails.
  static int take(Subscriber& subscriber, int enough) {
    int count = 0;
    eventually([&] {
      while (auto frame = subscriber.next()) {
        EXPECT_TRUE(is_secret(frame->payload())) << "a wrong frame was delivered";
        ++count;
      }
      return count >= enough || subscriber.status().state == SubscriberState::failed;
    });
    return count;
  }

  /// Waits until the viewer has failed without a session; returns its error message.
  static std::string refusal(Subscriber& subscriber) {
    EXPECT_TRUE(eventually([&] { return subscriber.status().state == SubscriberState::failed; }));
    EXPECT_EQ(subscriber.status().exit_status, ExitStatus::refused);
    EXPECT_EQ(subscriber.counts().sessions, 0U);
    return subscriber.status().message;
  }

  void expect_refused(Subscriber& subscriber, std::string_view words) {
    const std::string message = refusal(subscriber);
    EXPECT_NE(message.find(words), std::string::npos) << message;
  }

  test::TemporaryFolder folder_;
  Key key_;
  test::ShownLog log_;
  std::unique_ptr<Stream> stream_;
  std::unique_ptr<SenderService> service_;
  std::thread source_;
};

TEST_F(Encryption, IfEitherAsksBothDoIt) {
  for (const auto& [sender, viewer] : {std::pair{true, true}, {true, false}, {false, true}, {false, false}}) {
    start_sender(endpoint(sender));
    Subscriber subscriber(dialling(endpoint(viewer)), log_);
    EXPECT_GE(take(subscriber, 5), 5);
    const std::string line = subscriber.status().start_line;
    const bool encrypted = sender || viewer;
    EXPECT_NE(line.find(encrypted ? "transport=tcp" : "transport=local"), std::string::npos) << line;
    EXPECT_NE(line.find(encrypted ? "data=tls" : "data=plaintext"), std::string::npos) << line;
    EXPECT_EQ(line.find("(auto: tcp; --encrypt works over tcp only)") != std::string::npos, encrypted) << line;
    subscriber.close({});
    stop();
  }
}

TEST_F(Encryption, WithEitherEndDialling) {
  for (const auto& [sender, viewer] : {std::pair{true, false}, {false, true}}) {
    SubscriberOptions options{.endpoint = endpoint(viewer), .stream = {}, .delivery = {}};
    options.endpoint.listen = HostPort{"127.0.0.1", 0};
    Subscriber subscriber(options, log_);
    EndpointOptions to = endpoint(sender);
    to.dial = HostPort{"127.0.0.1", subscriber.port()};
    start_sender(to);
    EXPECT_GE(take(subscriber, 5), 5);
    EXPECT_NE(subscriber.status().start_line.find("data=tls"), std::string::npos) << subscriber.status().start_line;
    subscriber.close({});
    stop();
  }
}

TEST_F(Encryption, OverAUnixControlChannelToo) {
  EndpointOptions same_user;
  same_user.encrypt = true;
  start_sender(same_user);
  Subscriber subscriber(dialling(same_user), log_);
  EXPECT_GE(take(subscriber, 5), 5);
  const std::string line = subscriber.status().start_line;
  EXPECT_NE(line.find("transport=tcp memory=host auth=user control=unix data=tls"), std::string::npos) << line;
}

TEST_F(Encryption, AHostInTheMiddleSeesNothingOfIt) {
  for (const bool encrypt : {false, true}) {
    start_sender(endpoint(encrypt));
    Relay relay(service_->port());
    Subscriber subscriber(dialling(endpoint(false), relay.port()), log_);
    EXPECT_GE(take(subscriber, 50), 50);
    EXPECT_NE(subscriber.status().start_line.find("transport=tcp memory=host auth=psk control=tls1.3"),
              std::string::npos);
    EXPECT_GT(relay.data_bytes(), 50 * frame_bytes);
    EXPECT_EQ(relay.saw(secret), !encrypt);
    EXPECT_EQ(relay.saw("FWF1"), !encrypt) << "the magic of frame headers";
    EXPECT_EQ(relay.saw("somebody"), !encrypt);
    subscriber.close({});
    stop();
  }
}

TEST_F(Encryption, WhatItChangesIsNeverDelivered) {
  start_sender(endpoint(true));
  Relay relay(service_->port());
  Subscriber subscriber(dialling(endpoint(true), relay.port()), log_);
  std::atomic<bool> was_told = false;
  for (std::uint64_t session = 1; session <= 3; ++session) {
    EXPECT_GE(take(subscriber, 20), 20) << session;
    const std::uint64_t before = subscriber.counts().sessions;
    relay.flip_one_bit();
    EXPECT_TRUE(eventually([&] {
      while (auto frame = subscriber.next()) {
        EXPECT_TRUE(is_secret(frame->payload())) << "a wrong frame was delivered";
      }
      const SubscriberStatus status = subscriber.status();
      was_told = was_told || status.message.find("changed on the way") != std::string::npos;
      return subscriber.counts().sessions > before;
    })) << "the session goes on after all";
  }
  EXPECT_TRUE(was_told);
}

TEST_F(Encryption, AnEndThatCannotIsRefusedWithAnError) {
  for (const LinkKind only : {LinkKind::local, LinkKind::rdma}) {
    EndpointOptions narrow = endpoint(false);
    narrow.allowed_links = {only};
    narrow.may_choose_link = false;
    start_sender(endpoint(true));
    if (only == LinkKind::local) {
      Subscriber viewer(dialling(narrow), log_);
      expect_refused(viewer, "the sender asks for --encrypt, which works over tcp only, and the viewer");
    }
    stop();
    EndpointOptions both = narrow;
    both.encrypt = true;
    EXPECT_THROW(start_sender(both), Error);
    stream_.reset();
  }
  EndpointOptions narrow = endpoint(false);
  narrow.allowed_links = {LinkKind::local};
  start_sender(narrow);
  Subscriber viewer(dialling(endpoint(true)), log_);
  expect_refused(viewer, "the viewer asks for --encrypt, which works over tcp only, and the sender");
}

TEST_F(Encryption, WithoutAKeyThereIsNone) {
  EndpointOptions open;
  open.insecure = true;
  for (const auto& [sender, viewer] : {std::pair{true, false}, {false, true}}) {
    EndpointOptions listening = open;
    listening.encrypt = sender;
    start_sender(listening);
    Relay relay(service_->port());  // so that the control channel is TCP
    EndpointOptions to = open;
    to.encrypt = viewer;
    Subscriber subscriber(dialling(to, relay.port()), log_);
    expect_refused(subscriber, "framewire key");
    EXPECT_FALSE(relay.saw("FWDATA"));
    stop();
  }
}

TEST_F(Encryption, AnOlderViewerIsRefused) {
  EndpointOptions same_user;
  same_user.encrypt = true;
  start_sender(same_user);
  const AuthenticatedChannel viewer =
      authenticate_dialler(dial({"127.0.0.1", service_->port()}, monotonic_ns() + timeout_ns), {});
  exchange_hellos(*viewer.channel, "viewer", "old", {"sender"});
  const OfferMessage offer = read_offer(viewer.channel->receive(monotonic_ns() + timeout_ns));
  EXPECT_EQ(offer.encrypt, std::optional(true));
  EXPECT_EQ(offer.links, std::vector{LinkKind::tcp});
  viewer.channel->send(to_json(ChooseMessage{.link = LinkKind::tcp, .token = {}}));
  try {
    read_connect(viewer.channel->receive(monotonic_ns() + timeout_ns), LinkKind::tcp);
    ADD_FAILURE() << "the sender goes on in the clear";
  } catch (const Error& error) {
    EXPECT_EQ(error.status(), ExitStatus::refused);
    EXPECT_NE(std::string(error.what()).find("same release"), std::string::npos) << error.what();
  }
}

TEST_F(Encryption, AViewerThatWantsItOverAnotherLinkIsRefused) {
  start_sender({});
  const AuthenticatedChannel viewer =
      authenticate_dialler(dial({"127.0.0.1", service_->port()}, monotonic_ns() + timeout_ns), {});
  exchange_hellos(*viewer.channel, "viewer", "odd", {"sender"});
  EXPECT_EQ(read_offer(viewer.channel->receive(monotonic_ns() + timeout_ns)).encrypt, std::optional(false));
  viewer.channel->send(to_json(ChooseMessage{.link = LinkKind::local, .token = {}, .encrypt = true}));
  EXPECT_THROW(read_connect(viewer.channel->receive(monotonic_ns() + timeout_ns), LinkKind::tcp), Error);
}

TEST_F(Encryption, AnOlderSenderIsRefused) {
  SubscriberOptions options{.endpoint = {}, .stream = {}, .delivery = {}};
  options.endpoint.listen = HostPort{"127.0.0.1", 0};
  options.endpoint.encrypt = true;
  Subscriber subscriber(options, log_);
  const AuthenticatedChannel sender =
      authenticate_dialler(dial({"127.0.0.1", subscriber.port()}, monotonic_ns() + timeout_ns), {});
  exchange_hellos(*sender.channel, "sender", "old", {"viewer"});
  sender.channel->send(to_json(OfferMessage{
      .session = std::string(32, '0'), .streams = {{"old", 0, Delivery::latest, ""}}, .links = {LinkKind::tcp}}));
  const auto answer = sender.channel->receive(monotonic_ns() + timeout_ns);
  EXPECT_EQ(message_type(answer), "refused");
  EXPECT_NE(answer.dump().find("same release"), std::string::npos) << answer.dump();
  EXPECT_TRUE(eventually([&] { return subscriber.status().message.find("same release") != std::string::npos; }))
      << subscriber.status().message;
}

}  // namespace
}  // namespace framewire
