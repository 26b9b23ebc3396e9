// Peers other than senders connect to a viewer's acceptor, over the Unix socket.
#include <gtest/gtest.h>
#include <stdlib.h>

#include <atomic>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/wait.hpp"
#include "tests/base/eventually.hpp"
#include "tests/base/logs.hpp"
#include "tests/base/temporary_folder.hpp"
#include "transport/control/authenticate.hpp"
#include "transport/control/dial.hpp"
#include "transport/session/data_link.hpp"
#include "transport/session/handshake.hpp"
#include "transport/session/messages.hpp"
#include "transport/session/sender_service.hpp"
#include "transport/session/subscriber.hpp"

namespace framewire {
namespace {

using test::eventually;

/// Serves a client until the test ends it.
struct LongService {
  void operator()(AuthenticatedChannel&, SessionAcceptor&) {
    has_begun = true;
    EXPECT_TRUE(eventually([&] { return may_end.load(); }));
  }
  std::atomic<bool> has_begun = false;
  std::atomic<bool> may_end = false;
};

class ClientServiceTest : public testing::Test {
 protected:
  ClientServiceTest() { ::setenv("XDG_CONFIG_HOME", folder_.path().c_str(), 1); }

  static SubscriberOptions listening(ServeClient serve = {}) {
    SubscriberOptions options{.endpoint = {}, .stream = {}, .delivery = {}};
    options.endpoint.listen = HostPort{"127.0.0.1", 0};
    if (serve) {
      options.client_role = "bench";
      options.serve_client = std::move(serve);
    }
    return options;
  }

  static AuthenticatedChannel come(const Subscriber& subscriber, const std::string& role) {
    AuthenticatedChannel client =
        authenticate_dialler(dial({"127.0.0.1", subscriber.port()}, monotonic_ns() + 10 * ns_per_s), {});
    exchange_hellos(*client.channel, role, "test", {"viewer"});
    return client;
  }

  /// As come(), once those who came before have left. Throws Error if they never do.
  static AuthenticatedChannel come_after_others(const Subscriber& subscriber, const std::string& role) {
    AuthenticatedChannel client;
    const bool has_come = eventually([&] {
      try {
        client = come(subscriber, role);
        return true;
      } catch (const Error&) {
        return false;
      }
    });
    return has_come ? std::move(client) : come(subscriber, role);
  }

  /// Does a sender's handshake from its hello to a session over tcp.
  static LinkConnection open_link(const Subscriber& subscriber, const AuthenticatedChannel& sender) {
    const SessionId session = random_session_id();
    sender.channel->send(to_json(OfferMessage{.session = to_hex(session),
                                              .streams = {{.name = "test", .number = 1, .description = {}}},
                                              .links = {LinkKind::tcp}}));
    const ChooseMessage choice = read_choose(hear(sender));
    sender.channel->send(to_json(ConnectMessage{}));
    return dial_data({"127.0.0.1", subscriber.port()}, {}, Token::from_hex(choice.token), {session, LinkKind::tcp, 0},
                     {.peer_timeout_ns = 10 * ns_per_s});
  }

  static nlohmann::json hear(const AuthenticatedChannel& client) {
    return client.channel->receive(monotonic_ns() + 10 * ns_per_s);
  }

  test::TemporaryFolder folder_;
  test::ShownLog log_;
};

TEST_F(ClientServiceTest, AreServedAndSendersAfterThem) {
  std::atomic<int> served = 0;
  Subscriber subscriber(listening([&](AuthenticatedChannel& client, SessionAcceptor&) {
                          ++served;
                          client.channel->send({{"type", "hello there"}});
                        }),
                        log_);
  for (int i = 1; i <= 3; ++i) {
    EXPECT_EQ(message_type(hear(come_after_others(subscriber, "bench"))), "hello there");
    EXPECT_EQ(served, i);
  }
  Stream stream({.name = "test"});
  stream.begin_epoch({.layout = bytes_layout(100), .colour = {}});
  EndpointOptions to;
  to.dial = HostPort{"127.0.0.1", subscriber.port()};
  const SenderService service(to, {&stream}, "test", log_);
  EXPECT_TRUE(eventually([&] { return subscriber.status().state == SubscriberState::connected; }));
  subscriber.close({});
}

/// Which would wait for an answer that nobody gives any more.
TEST_F(ClientServiceTest, ASenderThatComesAfterTheEndIsDisconnected) {
  Subscriber subscriber(listening(), log_);
  Stream stream({.name = "test", .delivery = Delivery::every, .max_frames = 1});
  stream.begin_epoch({.layout = bytes_layout(100), .colour = {}});
  EndpointOptions to;
  to.dial = HostPort{"127.0.0.1", subscriber.port()};
  const SenderService service(to, {&stream}, "test", log_);
  stream.publish(*stream.claim(), {.layout = {}});
  stream.finish();
  ASSERT_TRUE(eventually([&] {
    static_cast<void>(subscriber.next());
    return subscriber.status().state == SubscriberState::finished;
  }));
  const AuthenticatedChannel late =
      authenticate_dialler(dial({"127.0.0.1", subscriber.port()}, monotonic_ns() + 10 * ns_per_s), {});
  EXPECT_TRUE(wait_for(late.channel->fd(), POLLRDHUP, monotonic_ns() + 10 * ns_per_s));
}

TEST_F(ClientServiceTest, WithoutTimeToRetryNobodyIsWaitedFor) {
  SubscriberOptions options = listening();
  options.retry_ns = 0;
  const Subscriber subscriber(options, log_);
  EXPECT_TRUE(eventually([&] { return subscriber.status().state == SubscriberState::failed; }));
  EXPECT_EQ(subscriber.status().exit_status, ExitStatus::lost_peer);
}

TEST_F(ClientServiceTest, AreDisconnectedWhenTheyHaveBeenServed) {
  const Subscriber subscriber(listening([](AuthenticatedChannel& client, SessionAcceptor&) {
                                client.channel->send({{"type", "that is all"}});
                              }),
                              log_);
  const AuthenticatedChannel client = come(subscriber, "bench");
  EXPECT_EQ(message_type(hear(client)), "that is all");
  EXPECT_TRUE(wait_for(client.channel->fd(), POLLRDHUP, monotonic_ns() + 10 * ns_per_s));
}

TEST_F(ClientServiceTest, ASecondSenderDuringTheFirstOnesHandshakeIsToldOnceThatStands) {
  Subscriber subscriber(listening(), log_);
  const AuthenticatedChannel first = come(subscriber, "sender");
  const auto come_late = [&] {
    return authenticate_dialler(dial({"127.0.0.1", subscriber.port()}, monotonic_ns() + 10 * ns_per_s), {});
  };
  const AuthenticatedChannel second = come_late();
  const LinkConnection path = open_link(subscriber, first);
  try {
    EXPECT_EQ(hear(second)["text"], "this end has a sender already") << "its thread came late";
  } catch (const Error&) {
    // It is disconnected, and asks again.
  }
  EXPECT_EQ(hear(come_late())["text"], "this end has a sender already");
  EXPECT_EQ(subscriber.status().state, SubscriberState::connected);
  EXPECT_EQ(subscriber.status().session_number, 1U);
}

/// A sender may be the dialling side. Without the hang-up it would wait for ever for a viewer that has given up.
TEST_F(ClientServiceTest, ASenderIsDisconnectedWhenItsSessionFailsHere) {
  Subscriber subscriber(listening(), log_);
  const AuthenticatedChannel sender = come(subscriber, "sender");
  const LinkConnection path = open_link(subscriber, sender);
  ASSERT_TRUE(eventually([&] { return subscriber.status().state == SubscriberState::connected; }));
  EXPECT_EQ(subscriber.status().session_number, 1U);
  const EpochMessage epoch{
      .number = 7, .format = {.layout = bytes_layout(100), .colour = {}}, .slot_bytes = 4096, .ring_slots = 2};
  sender.channel->send(to_json(epoch));
  sender.channel->send(to_json(epoch));
  EXPECT_THROW(
      while (true) { hear(sender); }, Error);
  EXPECT_TRUE(eventually([&] { return subscriber.status().state == SubscriberState::lost; }));
  EXPECT_EQ(subscriber.status().message, "the sender announced format 7 after format 7");
  const AuthenticatedChannel next = come(subscriber, "sender");
  const LinkConnection next_path = open_link(subscriber, next);
  EXPECT_TRUE(eventually([&] { return subscriber.status().session_number == 2; }))
      << "a program that missed the loss sees that";
}

TEST_F(ClientServiceTest, OfAnotherRoleAreRefused) {
  Subscriber closed(listening(), log_);
  Subscriber open(listening([](AuthenticatedChannel&, SessionAcceptor&) {}), log_);
  for (const auto& [subscriber, role] : {std::pair(&closed, "bench"), std::pair(&open, "thief")}) {
    const AuthenticatedChannel client = come(*subscriber, role);
    const auto said = hear(client);
    EXPECT_EQ(message_type(said), "refused");
    EXPECT_NE(said["text"].get<std::string>().find(role), std::string::npos);
  }
}

TEST_F(ClientServiceTest, ComeOneAtATime) {
  LongService service;
  Subscriber subscriber(listening(std::ref(service)), log_);
  const AuthenticatedChannel first = come(subscriber, "bench");
  EXPECT_TRUE(eventually([&] { return service.has_begun.load(); }));
  try {
    come(subscriber, "bench");
    ADD_FAILURE();
  } catch (const Error& error) {
    EXPECT_EQ(error.status(), ExitStatus::refused);
    EXPECT_NE(std::string(error.what()).find("busy"), std::string::npos);
  }
  service.may_end = true;
  come_after_others(subscriber, "bench");
}

/// Each peer has a thread until it is answered, which takes a second while another client is served.
TEST_F(ClientServiceTest, WaitForAnAnswerInBoundedNumber) {
  LongService service;
  Subscriber subscriber(listening(std::ref(service)), log_);
  const AuthenticatedChannel first = come(subscriber, "bench");
  EXPECT_TRUE(eventually([&] { return service.has_begun.load(); }));
  std::vector<AuthenticatedChannel> peers;
  for (std::size_t i = 0; i < 10 * Subscriber::max_unanswered_peers; ++i) {
    peers.push_back(authenticate_dialler(dial({"127.0.0.1", subscriber.port()}, monotonic_ns() + 10 * ns_per_s), {}));
  }
  std::size_t refused = 0;
  for (const AuthenticatedChannel& peer : peers) {
    try {
      refused += message_type(hear(peer)) == "refused" ? 1U : 0U;
    } catch (const Error&) {
      // closed without an answer
    }
  }
  EXPECT_GE(refused, 1U) << "those within the limit are told";
  EXPECT_LT(refused, peers.size()) << "all were kept at once";
  peers.clear();
  service.may_end = true;
  come_after_others(subscriber, "bench");
}

/// A client that says nothing does not keep the program from ending.
TEST_F(ClientServiceTest, EndWithTheSubscriber) {
  std::atomic<bool> is_served = false;
  Subscriber subscriber(listening([&](AuthenticatedChannel& client, SessionAcceptor&) {
                          is_served = true;
                          EXPECT_THROW(client.channel->receive(monotonic_ns() + 60 * ns_per_s), Error);
                        }),
                        log_);
  const AuthenticatedChannel client = come(subscriber, "bench");
  EXPECT_TRUE(eventually([&] { return is_served.load(); }));
  const std::int64_t begin_ns = monotonic_ns();
  subscriber.close({});
  EXPECT_LT(monotonic_ns() - begin_ns, 30 * ns_per_s);
}

/// Nor does a peer that connects and never sends hello.
TEST_F(ClientServiceTest, SayNothingAndHoldUpNobody) {
  Subscriber subscriber(listening(), log_);
  const AuthenticatedChannel silent =
      authenticate_dialler(dial({"127.0.0.1", subscriber.port()}, monotonic_ns() + 10 * ns_per_s), {});
  EXPECT_EQ(message_type(hear(silent)), "hello");  // it now waits for our hello
  const std::int64_t begin_ns = monotonic_ns();
  subscriber.close({});
  EXPECT_LT(monotonic_ns() - begin_ns, handshake_timeout_ns / 2);
}

/// The handler of a client may move the channel to a session, which may end first. The subscriber must then not use
/// the channel when it closes.
TEST_F(ClientServiceTest, MayBeHandedOn) {
  std::atomic<bool> is_gone = false;
  std::atomic<bool> may_end = false;
  Subscriber subscriber(listening([&](AuthenticatedChannel& client, SessionAcceptor&) {
                          AuthenticatedChannel(std::move(client)).channel.reset();
                          is_gone = true;
                          EXPECT_TRUE(eventually([&] { return may_end.load(); }));
                        }),
                        log_);
  const AuthenticatedChannel client = come(subscriber, "bench");
  EXPECT_TRUE(eventually([&] { return is_gone.load(); }));
  std::thread closes([&] { subscriber.close({}); });
  EXPECT_THROW(hear(client), Error) << "the end has reached the connection";
  may_end = true;
  closes.join();
}

}  // namespace
}  // namespace framewire
