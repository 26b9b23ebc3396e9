// Peers of another make, in simulated worlds: they keep to the protocol, and do in one moment what framewire's own ends
// do one after the other. Each test runs in many rounds, whose moments a seed decides.
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/socket.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/wait.hpp"
#include "frame/test_pattern.hpp"
#include "tests/base/eventually.hpp"
#include "tests/base/logs.hpp"
#include "tests/base/temporary_folder.hpp"
#include "tests/sim/sockets.hpp"
#include "tests/sim/world.hpp"
#include "transport/control/authenticate.hpp"
#include "transport/control/data_hello.hpp"
#include "transport/control/dial.hpp"
#include "transport/control/listener.hpp"
#include "transport/local/local_sender.hpp"
#include "transport/session/data_link.hpp"
#include "transport/session/handshake.hpp"
#include "transport/session/messages.hpp"
#include "transport/session/sender_service.hpp"
#include "transport/session/subscriber.hpp"
#include "transport/tcp/tcp_sender.hpp"

namespace framewire::sim {
namespace {

using test::eventually;
using test::timeout_ns;

constexpr std::uint64_t frame_bytes = 1000;

World& world() {
  return *World::current();
}

/// A moment, of which anything may happen before or after.
void hesitate(std::int64_t limit_ns) {
  std::this_thread::sleep_for(std::chrono::nanoseconds(world().below(static_cast<std::uint64_t>(limit_ns))));
}

// ---- A sender ----

/// Speaks the control channel itself; its frames go over the product's links.
class ForeignSender {
 public:
  /// Takes the viewer that dials next, up to its data connection.
  ForeignSender(Listener& listener, LinkKind link) : listener_(listener) {
    viewer_ = authenticate_listener(accept(), {.key = {}, .insecure = true});
    exchange_hellos(*viewer_.channel, "sender", "of another make", {"viewer"});
    const DataConnectionId connection{random_session_id(), link, 0};
    viewer_.channel->send(to_json(OfferMessage{
        .session = to_hex(connection.session), .streams = {{.name = "test", .description = {}}}, .links = {link}}));
    read_choose(hear());
    const Token token = Token::random();
    viewer_.channel->send(to_json(ConnectMessage{.token = token.hex()}));
    AcceptedSocket data = accept();
    read_data_hello(data.fd.get(), deadline_ns());
    send_data_answer(data.fd.get(), token, connection, deadline_ns());
    if (link == LinkKind::local) {
      link_ = std::make_unique<LocalSender>(std::move(data.fd), std::vector<std::string>());
    } else {
      link_ = std::make_unique<TcpSender>(std::move(data.fd), timeout_ns);
    }
  }

  void begin_epoch(std::uint32_t slots) {
    pool_ = std::make_shared<Pool>(1, frame_bytes, slots);
    link_->begin_epoch(pool_);
    say(to_json(EpochMessage{.number = 1,
                             .format = {.layout = bytes_layout(frame_bytes), .colour = {}},
                             .slot_bytes = frame_bytes,
                             .ring_slots = slots}));
    nlohmann::json answer = hear();
    while (message_type(answer) != "ready") {
      answer = hear();
    }
    link_->epoch_ready(1, slots, {});
  }

  void send_frame(std::uint64_t sequence) {
    send(make_frame(sequence));
    ++sent_;
  }

  /// Of a frame that has two.
  void send_first_slice(std::uint64_t sequence) {
    OutgoingFrame slice = make_frame(sequence);
    slice.header.slice_count = 2;
    slice.header.slice_bytes = slice_range(slice.header).size_bytes;
    slice.is_last = false;
    send(slice);
  }

  /// Until the kernel has the frames of a link that writes them.
  void flush() {
    std::array<PoolSlot, 8> released;
    while (link_->kind() == LinkKind::tcp && released_ < sent_) {
      link_->on_readable();
      released_ += link_->poll_released(released);
      hesitate(1000);
    }
  }

  void say(const nlohmann::json& message) { viewer_.channel->send(message, deadline_ns()); }
  void send_bye(std::uint64_t frames_sent) { say(to_json(ByeMessage{.reason = "done", .frames_sent = frames_sent})); }
  void end_link() { link_.reset(); }
  /// As if other viewers got frames in the same slots.
  void withdraw() {
    link_->withdraw();
    for (std::uint32_t slot = 0; slot < pool_->slot_count(); ++slot) {
      write_test_lines(pool_->slot(static_cast<std::uint16_t>(slot)), 1000);
      hesitate(1000);
    }
  }
  nlohmann::json hear() { return viewer_.channel->receive(deadline_ns()); }

 private:
  static std::int64_t deadline_ns() { return monotonic_ns() + timeout_ns; }
  AcceptedSocket accept() {
    auto descriptors = listener_.descriptors();
    wait_until(descriptors, deadline_ns());
    return listener_.accept().value();
  }

  OutgoingFrame make_frame(std::uint64_t sequence) {
    const std::uint16_t slot = *pool_->claim();
    write_test_lines(pool_->slot(slot), sequence);
    OutgoingFrame frame{.payload = pool_->payload(slot, frame_bytes), .pool_slot = {1, slot}};
    frame.header.sequence = sequence;
    frame.header.epoch = 1;
    frame.header.layout = bytes_layout(frame_bytes);
    frame.header.slice_bytes = frame_bytes;
    return frame;
  }

  void send(const OutgoingFrame& part) {
    ASSERT_EQ(link_->try_send(part), SendResult::accepted);
    if (const auto waker = link_->take_waker()) {
      waker->wake();
    }
  }

  Listener& listener_;
  AuthenticatedChannel viewer_;
  std::shared_ptr<Pool> pool_;
  std::unique_ptr<SenderLink> link_;
  std::size_t sent_ = 0;
  std::size_t released_ = 0;
};

class ForeignPeers : public testing::Test {
 protected:
  ForeignPeers() { ::setenv("XDG_CONFIG_HOME", folder_.path().c_str(), 1); }

  /// Without another try.
  static SubscriberOptions dialling(std::uint16_t port, LinkKind link) {
    SubscriberOptions options;
    options.endpoint.dial = HostPort{"127.0.0.1", port};
    options.endpoint.allowed_links = {link};
    options.endpoint.insecure = true;
    options.reconnect = false;
    options.driver = world().chance(50) ? Driver::program : Driver::subscriber;
    return options;
  }

  static EndpointOptions listening() {
    EndpointOptions options;
    options.listen = HostPort{"127.0.0.1", 0};
    options.insecure = true;
    return options;
  }

  /// Takes frames, and keeps all of them, until the session is over. Returns how many there were.
  static std::uint64_t take_all(Subscriber& subscriber) {
    std::vector<ReceivedFrame> frames;
    SubscriberState state = SubscriberState::waiting;
    while (state != SubscriberState::finished && state != SubscriberState::failed) {
      while (auto frame = subscriber.next()) {
        const bool is_torn = find_torn_line(frame->payload(), frame->header().sequence).has_value();
        EXPECT_TRUE(!is_torn || frame->is_withdrawn()) << "nobody could know it";
        frames.push_back(std::move(*frame));
      }
      state = subscriber.status().state;
      subscriber.wait(monotonic_ns() + ns_per_s, WaitMode::block);
    }
    return frames.size();
  }

  test::TemporaryFolder folder_;
  test::KeptLog log_;
};

/// A sender that does not wait for its viewer ends its link directly after its bye: the bye counts, and so does every
/// frame before it, though the viewer may notice the end first.
TEST_F(ForeignPeers, ABysFramesComeThoughTheLinkEndsAtOnce) {
  Listener listener({.at = {.host = "127.0.0.1", .port = 0}, .insecure = true});
  for (int round = 0; round < 100 && !HasFailure(); ++round) {
    const LinkKind link = world().chance(50) ? LinkKind::local : LinkKind::tcp;
    const auto count = static_cast<std::uint32_t>(1 + world().below(6));
    std::thread sender([&] {
      ForeignSender foreign(listener, link);
      foreign.begin_epoch(8);
      for (std::uint32_t i = 0; i < count; ++i) {
        foreign.send_frame(i);
        hesitate(5'000);
      }
      foreign.flush();
      foreign.say({{"type", "of a newer sender"}});  // wakes the viewer's session
      hesitate(10'000);
      foreign.send_bye(count);
      foreign.end_link();
      EXPECT_NO_THROW(foreign.hear()) << "its bye";
    });
    Subscriber subscriber(dialling(listener.port(), link), log_);
    EXPECT_EQ(take_all(subscriber), count);
    const SubscriberStatus status = subscriber.status();
    EXPECT_EQ(status.state, SubscriberState::finished) << status.message;
    EXPECT_EQ(subscriber.counts().frames_lost, 0U);
    subscriber.close("{}");
    sender.join();
  }
}

/// A sender may use its slots again, with and without a bye: what the viewer has not taken then is lost, and not torn.
TEST_F(ForeignPeers, WhatASenderTakesBackIsLost) {
  Listener listener({.at = {.host = "127.0.0.1", .port = 0}, .insecure = true});
  for (int round = 0; round < 50 && !HasFailure(); ++round) {
    const bool says_bye = world().chance(50);
    const auto count = static_cast<std::uint32_t>(1 + world().below(6));
    std::thread sender([&] {
      ForeignSender foreign(listener, LinkKind::local);
      foreign.begin_epoch(8);
      for (std::uint32_t i = 0; i < count; ++i) {
        foreign.send_frame(i);
        hesitate(5'000);
      }
      if (says_bye) {
        foreign.send_bye(count);
        hesitate(10'000);
      }
      foreign.withdraw();
      foreign.end_link();
      if (says_bye) {
        EXPECT_NO_THROW(foreign.hear()) << "its bye";
      }
    });
    Subscriber subscriber(dialling(listener.port(), LinkKind::local), log_);
    const std::uint64_t received = take_all(subscriber);
    EXPECT_FALSE(subscriber.next());
    const SubscriberCounts counts = subscriber.counts();
    EXPECT_EQ(counts.frames_received, received);
    EXPECT_EQ(received + counts.frames_lost, count);
    const SubscriberStatus status = subscriber.status();
    EXPECT_EQ(status.state, says_bye ? SubscriberState::finished : SubscriberState::failed) << status.message;
    EXPECT_EQ(status.message.find("uses the memory of its frames again") != std::string::npos, !says_bye)
        << status.message;
    subscriber.close("{}");
    sender.join();
  }
}

/// A sender says bye when it has sent its frames. Slices of one that it has given up may be on their way then.
TEST_F(ForeignPeers, NoSliceComesAfterTheEnd) {
  Listener listener({.at = {.host = "127.0.0.1", .port = 0}, .insecure = true});
  for (int round = 0; round < 20; ++round) {
    std::atomic<bool> is_finished = false;
    std::atomic<bool> is_sent = false;
    std::thread sender([&] {
      ForeignSender foreign(listener, LinkKind::tcp);
      foreign.begin_epoch(8);
      foreign.send_frame(0);
      foreign.flush();
      foreign.send_bye(1);
      EXPECT_TRUE(eventually([&] { return is_finished.load(); }));
      foreign.send_first_slice(1);
      is_sent = true;
      EXPECT_NO_THROW(foreign.hear()) << "its bye";
    });
    SubscriberOptions options = dialling(listener.port(), LinkKind::tcp);
    options.driver = Driver::program;
    options.takes_slices = true;
    Subscriber subscriber(options, log_);
    EXPECT_EQ(take_all(subscriber), 1U);
    EXPECT_EQ(subscriber.status().state, SubscriberState::finished) << subscriber.status().message;
    is_finished = true;
    EXPECT_TRUE(eventually([&] { return is_sent.load(); }));
    std::this_thread::sleep_for(std::chrono::milliseconds(10));  // the slice comes
    EXPECT_FALSE(subscriber.next());
    subscriber.close("{}");
    sender.join();
  }
}

// ---- A viewer ----

/// A viewer that says bye and closes has left, whatever its sender says to it in that moment.
TEST_F(ForeignPeers, AViewerThatSaysByeAndClosesAtOnceHasLeft) {
  Stream stream(StreamOptions{.name = "test"});
  SenderService service(listening(), {&stream}, "test", log_);
  const HostPort at{"127.0.0.1", service.port()};
  for (std::size_t round = 1; round <= 20; ++round) {
    AuthenticatedChannel viewer = authenticate_dialler(dial(at, monotonic_ns() + timeout_ns), AuthenticateOptions{});
    exchange_hellos(*viewer.channel, "viewer", "of another make", {"sender"});
    const OfferMessage offer = read_offer(viewer.channel->receive(monotonic_ns() + timeout_ns));
    viewer.channel->send(to_json(ChooseMessage{.link = LinkKind::tcp, .token = {}}));
    const ConnectMessage go = read_connect(viewer.channel->receive(monotonic_ns() + timeout_ns), LinkKind::tcp);
    std::optional<LinkConnection> data =
        dial_data(at, {}, Token::from_hex(go.token), {session_id_from_hex(offer.session), LinkKind::tcp, 0},
                  {.cancel_fd = viewer.channel->fd()});
    ASSERT_TRUE(eventually([&] { return stream.viewer_count() == 1; }));
    std::thread source([&] {
      for (int i = 0; i < 5; ++i) {
        hesitate(10'000);
        stream.begin_epoch({.layout = bytes_layout(frame_bytes), .colour = {}});
      }
    });
    hesitate(30'000);
    viewer.channel->send(to_json(ByeMessage{.reason = "done"}));
    viewer = {};
    data.reset();
    source.join();
    ASSERT_TRUE(eventually([&] { return service.reports().size() == round; }));
    EXPECT_TRUE(service.reports().back().bye_received) << service.reports().back().ending;
    EXPECT_EQ(service.reports().back().ending, "the viewer left: 'done'");
  }
}

// ---- Peers that leave before their data connection ----

/// A viewer that leaves when it has chosen cannot be told the token that was issued for it.
TEST_F(ForeignPeers, ViewersThatLeaveWhenTheyHaveChosenKeepNoToken) {
  Stream stream(StreamOptions{.name = "test"});
  SenderService service(listening(), {&stream}, "test", log_);
  const HostPort at{"127.0.0.1", service.port()};
  const auto come_and_choose = [&](bool hears_no_answer) {
    AuthenticatedChannel viewer = authenticate_dialler(dial(at, monotonic_ns() + timeout_ns), AuthenticateOptions{});
    exchange_hellos(*viewer.channel, "viewer", "of another make", {"sender"});
    viewer.channel->receive(monotonic_ns() + timeout_ns);
    if (hears_no_answer) {
      ::shutdown(viewer.channel->fd(), SHUT_RD);
    }
    viewer.channel->send(to_json(ChooseMessage{.link = LinkKind::tcp, .token = {}}));
    return viewer;
  };
  constexpr int rounds = 110;  // a sender has a hundred tokens at a time
  for (int round = 0; round < rounds; ++round) {
    come_and_choose(true);
    std::this_thread::sleep_for(std::chrono::milliseconds(10));  // the sender notices
  }
  const AuthenticatedChannel viewer = come_and_choose(false);
  EXPECT_NO_THROW(read_connect(viewer.channel->receive(monotonic_ns() + timeout_ns), LinkKind::tcp));
}

/// The other way round the viewer has issued it.
TEST_F(ForeignPeers, TheTokenForASenderThatLeavesIsOfNoUse) {
  SubscriberOptions options = dialling(0, LinkKind::tcp);
  options.endpoint.dial.reset();
  options.endpoint.listen = HostPort{"127.0.0.1", 0};
  Subscriber subscriber(options, log_);
  const HostPort at{"127.0.0.1", subscriber.port()};
  const std::int64_t deadline_ns = monotonic_ns() + timeout_ns;
  AuthenticatedChannel sender = authenticate_dialler(dial(at, deadline_ns), AuthenticateOptions{});
  exchange_hellos(*sender.channel, "sender", "of another make", {"viewer"});
  const DataConnectionId connection{random_session_id(), LinkKind::tcp, 0};
  sender.channel->send(to_json(OfferMessage{.session = to_hex(connection.session),
                                            .streams = {{.name = "test", .description = {}}},
                                            .links = {LinkKind::tcp}}));
  const Token token = Token::from_hex(read_choose(sender.channel->receive(deadline_ns)).token);
  sender = {};
  std::this_thread::sleep_for(std::chrono::seconds(1));  // the viewer notices
  const DialledSocket late = dial(at, deadline_ns, DialMode::tcp);
  send_data_hello(late.fd.get(), token, connection, deadline_ns);
  EXPECT_THROW(read_data_answer(late.fd.get(), token, connection, deadline_ns), Error);
  subscriber.close("{}");
}

}  // namespace
}  // namespace framewire::sim
