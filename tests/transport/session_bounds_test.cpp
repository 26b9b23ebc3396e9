// Limits on memory and time that a peer can cost a session: it does not read answers, or does not end its handshake.
#include <gtest/gtest.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/socket.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <new>
#include <nlohmann/json.hpp>
#include <optional>
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
#include "transport/control/data_hello.hpp"
#include "transport/control/listener.hpp"
#include "transport/session/data_link.hpp"
#include "transport/session/handshake.hpp"
#include "transport/session/input_messages.hpp"
#include "transport/session/sender_service.hpp"
#include "transport/session/subscriber.hpp"
#include "transport/session/viewer_session.hpp"

namespace framewire {
namespace {

using test::eventually;
using test::timeout_ns;

/// Does not wait.
bool is_hung_up(const AuthenticatedChannel& peer) {
  pollfd end{.fd = peer.channel->fd(), .events = POLLRDHUP, .revents = 0};
  return wait_until({&end, 1}, 0) > 0;
}

AcceptedSocket accept(Listener& listener) {
  auto descriptors = listener.descriptors();
  wait_until(descriptors, monotonic_ns() + timeout_ns);
  return listener.accept().value();
}

/// Uses a configuration folder without a key, so that this machine's own key has no effect.
class SessionBounds : public testing::Test {
 protected:
  SessionBounds() { ::setenv("XDG_CONFIG_HOME", folder_.path().c_str(), 1); }

  void start() {
    EndpointOptions listening;
    listening.listen = HostPort{"127.0.0.1", 0};
    service_ = std::make_unique<SenderService>(listening, std::vector<Stream*>{&stream_}, "test", log_);
  }

  void start_dialling(std::uint16_t port) {
    EndpointOptions dialling;
    dialling.dial = HostPort{"127.0.0.1", port};
    service_ = std::make_unique<SenderService>(dialling, std::vector<Stream*>{&stream_}, "test", log_);
  }

  [[nodiscard]] HostPort at() const { return {.host = "127.0.0.1", .port = service_->port()}; }

  static nlohmann::json hear(const AuthenticatedChannel& peer) {
    return peer.channel->receive(monotonic_ns() + timeout_ns);
  }

  [[nodiscard]] AuthenticatedChannel come() const {
    return authenticate_dialler(dial(at(), monotonic_ns() + timeout_ns), AuthenticateOptions{});
  }

  /// Does a viewer's handshake up to its place in the stream.
  std::pair<AuthenticatedChannel, LinkConnection> join() {
    AuthenticatedChannel viewer = come();
    EXPECT_EQ(message_type(hear(viewer)), "hello");
    viewer.channel->send(to_json(HelloMessage{.role = "viewer", .program = "test"}));
    const OfferMessage offer = read_offer(hear(viewer));
    viewer.channel->send(
        to_json(ChooseMessage{.stream = 0, .link = LinkKind::tcp, .delivery = Delivery::latest, .token = {}}));
    const ConnectMessage go = read_connect(hear(viewer), LinkKind::tcp);
    LinkConnection path =
        dial_data(at(), {}, Token::from_hex(go.token), {session_id_from_hex(offer.session), LinkKind::tcp, 0},
                  {.cancel_fd = viewer.channel->fd()});
    EXPECT_TRUE(eventually([&] { return stream_.viewer_count() == 1; }));
    return {std::move(viewer), std::move(path)};
  }

  test::TemporaryFolder folder_;
  test::ShownLog log_;
  Stream stream_{StreamOptions{.name = "test", .delivery = Delivery::latest}};
  std::unique_ptr<SenderService> service_;
};

TEST_F(SessionBounds, AViewerThatAsksAndDoesNotReadIsHeardAgainOnceItReads) {
  constexpr std::int64_t enough = 200'000;  // answers: far more than the sender may queue
  start();
  const auto [viewer, path] = join();
  MessageChannel& channel = *viewer.channel;
  std::int64_t asked = 0;
  // Asks until the sender stops reading questions, because the viewer does not read the answers.
  for (; asked < enough; ++asked) {
    channel.post(to_json(ClockMessage{.viewer_ns = asked}));
    if (channel.wants_write() && !wait_for(channel.fd(), POLLOUT, monotonic_ns() + ns_per_s / 2)) {
      ++asked;
      break;
    }
  }
  EXPECT_LT(asked, enough) << "all were read";
  for (std::int64_t i = 0; i < asked; ++i) {
    const ClockMessage answer = read_clock(hear(viewer));
    ASSERT_EQ(answer.viewer_ns, i);
    channel.flush();
  }
  channel.send(to_json(ByeMessage{.reason = "done", .frames_sent = 0, .statistics = {}}));
  EXPECT_TRUE(eventually([&] { return !service_->reports().empty(); }));
  EXPECT_EQ(service_->reports().front().ending, "the viewer left: 'done'");
}

/// Not an Error: a program's function that fails, or no memory.
TEST_F(SessionBounds, ASessionThatFailsHasAReport) {
  stream_.inbox().take_messages([] { throw std::bad_alloc(); });
  start();
  const auto [viewer, path] = join();
  viewer.channel->send(program_message("{}"));
  EXPECT_TRUE(eventually([&] { return !service_->reports().empty(); }));
  ASSERT_EQ(service_->reports().size(), 1U);
  const SessionReport report = service_->reports().front();
  EXPECT_EQ(report.ending, "the session failed: there is no memory left; end other programs, or raise 'ulimit -v'");
  EXPECT_EQ(report.transport, "tcp");
  EXPECT_FALSE(report.was_refused);
  EXPECT_EQ(stream_.viewer_count(), 0U);
}

TEST_F(SessionBounds, SoManyShakeHandsAndNoMore) {
  start();
  std::vector<AuthenticatedChannel> silent;
  for (std::size_t i = 0; i < SenderService::max_handshakes + 20; ++i) {
    silent.push_back(come());
    pollfd heard{.fd = silent.back().channel->fd(), .events = POLLIN, .revents = 0};
    ASSERT_EQ(wait_until({&heard, 1}, monotonic_ns() + timeout_ns), 1) << "a hello, or the end";
  }
  const auto open = std::ranges::count_if(silent, [](const AuthenticatedChannel& one) { return !is_hung_up(one); });
  EXPECT_LE(static_cast<std::size_t>(open), SenderService::max_handshakes);
  // Nor do the silent peers keep out a viewer that completes its handshake.
  SubscriberOptions options{.endpoint = {}, .stream = {}, .delivery = {}};
  options.endpoint.dial = at();
  Subscriber subscriber(options, log_);
  EXPECT_TRUE(eventually([&] { return subscriber.status().state == SubscriberState::connected; }));
  subscriber.close({});
}

TEST_F(SessionBounds, AnInterruptionDoesNotWaitForHandshakes) {
  start();
  const AuthenticatedChannel silent = come();
  EXPECT_EQ(message_type(hear(silent)), "hello");
  const auto [viewer, path] = join();
  service_->interrupt(INT64_MAX - 1);  // no time limit for the goodbye
  EXPECT_THROW(hear(silent), Error);
  EXPECT_FALSE(is_hung_up(viewer)) << "it is served, and may take the last frames";
  const AuthenticatedChannel late = come();
  EXPECT_THROW(hear(late), Error) << "no hello";
  viewer.channel->send(to_json(ByeMessage{.reason = "done", .frames_sent = 0, .statistics = {}}));
  service_->drain(INT64_MAX - 1);
  EXPECT_EQ(service_->reports().size(), 1U);
}

/// A sender that dials: its peer accepts and authenticates, then says nothing.
TEST_F(SessionBounds, AnInterruptionOfADiallerDoesNotWaitForItsHandshake) {
  Listener listener({.at = {.host = "127.0.0.1", .port = 0}});
  start_dialling(listener.port());
  const std::int64_t begin_ns = monotonic_ns();
  const AuthenticatedChannel silent = authenticate_listener(accept(listener), {});
  EXPECT_EQ(message_type(hear(silent)), "hello");
  service_->interrupt(INT64_MAX - 1);
  EXPECT_THROW(hear(silent), Error);
  service_->drain(INT64_MAX - 1);
  service_.reset();
  EXPECT_LT(monotonic_ns(), begin_ns + handshake_timeout_ns) << "it was left to its own time";
}

/// The same with a peer that accepts and does not even authenticate.
TEST_F(SessionBounds, AnInterruptionOfADiallerDoesNotWaitForItsGreeting) {
  Listener listener({.at = {.host = "127.0.0.1", .port = 0}});
  start_dialling(listener.port());
  const std::int64_t begin_ns = monotonic_ns();
  const AcceptedSocket silent = accept(listener);
  ASSERT_TRUE(wait_for(silent.fd.get(), POLLIN, monotonic_ns() + timeout_ns)) << "its greeting";
  service_->interrupt(INT64_MAX - 1);
  service_->drain(INT64_MAX - 1);
  service_.reset();
  EXPECT_LT(monotonic_ns(), begin_ns + handshake_timeout_ns) << "it was left to its own time";
}

/// From the beginning, and between two attempts not: who gives up then leaves no attempt alone.
TEST_F(SessionBounds, ADiallerSaysWhetherAnAttemptIsUnderWay) {
  auto listener = std::make_optional<Listener>(ListenOptions{.at = {.host = "127.0.0.1", .port = 0}});
  start_dialling(listener->port());
  EXPECT_TRUE(service_->is_dialling());
  auto silent = std::make_optional(authenticate_listener(accept(*listener), {}));
  EXPECT_EQ(message_type(hear(*silent)), "hello");
  EXPECT_TRUE(service_->is_dialling());
  EXPECT_EQ(service_->last_dial_failure().why, "");
  listener.reset();
  silent.reset();
  EXPECT_TRUE(eventually([&] { return !service_->is_dialling(); }));
  EXPECT_NE(service_->last_dial_failure().why, "");
}

TEST_F(SessionBounds, NorDoesAViewerThatDials) {
  Listener listener({.at = {.host = "127.0.0.1", .port = 0}});
  SubscriberOptions options{.endpoint = {}, .stream = {}, .delivery = {}};
  options.endpoint.dial = HostPort{"127.0.0.1", listener.port()};
  for (const bool authenticates : {false, true}) {
    Subscriber subscriber(options, log_);
    const std::int64_t begin_ns = monotonic_ns();
    AcceptedSocket silent = accept(listener);
    ASSERT_TRUE(wait_for(silent.fd.get(), POLLIN, monotonic_ns() + timeout_ns)) << "its greeting";
    AuthenticatedChannel channel;
    if (authenticates) {
      channel = authenticate_listener(std::move(silent), {});
      EXPECT_EQ(message_type(hear(channel)), "hello");
    }
    subscriber.close({});
    EXPECT_LT(monotonic_ns(), begin_ns + handshake_timeout_ns) << "it was left to its own time";
  }
}

/// Plays a sender up to the data connection. Returns the viewer's channel.
std::pair<AuthenticatedChannel, AcceptedSocket> set_up_link(
    Listener& listener, std::optional<bool> encrypt = {},
    const std::function<void(MessageChannel&)>& before_answer = {}) {
  AuthenticatedChannel viewer = authenticate_listener(accept(listener), {.key = {}, .insecure = true});
  const DataConnectionId connection{random_session_id(), LinkKind::tcp, 0};
  const Token token = Token::random();
  viewer.channel->send(to_json(OfferMessage{.session = to_hex(connection.session),
                                            .streams = {{"test", 0, Delivery::latest, "", false}},
                                            .links = {LinkKind::tcp},
                                            .encrypt = encrypt}));
  read_choose(viewer.channel->receive(monotonic_ns() + timeout_ns));
  viewer.channel->send(to_json(ConnectMessage{.token = token.hex()}));
  AcceptedSocket data = accept(listener);
  read_data_hello(data.fd.get(), monotonic_ns() + timeout_ns);
  if (before_answer) {
    before_answer(*viewer.channel);
  }
  send_data_answer(data.fd.get(), token, connection, monotonic_ns() + timeout_ns);
  return {std::move(viewer), std::move(data)};
}

/// A sender that answers no question and sends other messages until the viewer hangs up.
void talk_on(Listener& listener, std::atomic<int>& said) {
  const auto say = [&](MessageChannel& viewer) {
    viewer.send({{"type", "of a newer sender"}}, monotonic_ns() + timeout_ns);
    ++said;
  };
  const auto say_twice = [&](MessageChannel& viewer) {
    say(viewer);
    say(viewer);
  };
  const auto [viewer, data] = set_up_link(listener, {}, say_twice);
  for (const std::int64_t end_ns = monotonic_ns() + timeout_ns; monotonic_ns() < end_ns;) {
    try {
      say(*viewer.channel);
    } catch (const Error&) {
      return;  // the viewer has hung up
    }
  }
}

ViewerPreferences over_tcp() {
  return {
      .stream = {}, .delivery = {}, .allowed_links = {LinkKind::tcp}, .parameters = {.peer_timeout_ns = timeout_ns}};
}

TEST_F(SessionBounds, WhoTalksOnHasNoMoreTimeForItsHandshake) {
  Listener listener({.at = {.host = "127.0.0.1", .port = 0}, .insecure = true});
  const HostPort to{.host = "127.0.0.1", .port = listener.port()};
  std::atomic<int> said = 0;
  std::thread sender([&] { talk_on(listener, said); });
  std::string why;
  const std::int64_t begin_ns = monotonic_ns();
  try {
    ViewerPreferences preferences = over_tcp();
    preferences.clock_timeout_ns = ns_per_s / 2;
    const ViewerSession session(
        authenticate_dialler(dial(to, monotonic_ns() + timeout_ns, DialMode::tcp), {.key = {}, .insecure = true}),
        {.dial = &to}, preferences);
  } catch (const Error& error) {
    why = error.what();
  }
  EXPECT_LT(monotonic_ns() - begin_ns, timeout_ns);
  sender.join();
  EXPECT_NE(why.find("did not finish the handshake in time"), std::string::npos) << why;
  EXPECT_GT(said, 1);
}

/// Plays a sender that has no place: it says so before its answer on the data connection comes.
void refuse_early(Listener& listener) {
  const AuthenticatedChannel viewer = authenticate_listener(accept(listener), {.key = {}, .insecure = true});
  viewer.channel->send(to_json(OfferMessage{.session = to_hex(random_session_id()),
                                            .streams = {{"test", 0, Delivery::latest, "", false}},
                                            .links = {LinkKind::tcp}}));
  read_choose(viewer.channel->receive(monotonic_ns() + timeout_ns));
  viewer.channel->send(to_json(ConnectMessage{.token = Token::random().hex()}));
  const AcceptedSocket data = accept(listener);
  EXPECT_THROW(refuse(*viewer.channel, "the sender has its 8 viewers already"), Error);
}

TEST_F(SessionBounds, AViewerHearsWhyItIsRefusedThoughItsDataConnectionDoesNotStand) {
  Listener listener({.at = {.host = "127.0.0.1", .port = 0}, .insecure = true});
  const HostPort to{.host = "127.0.0.1", .port = listener.port()};
  std::thread sender([&] { refuse_early(listener); });
  try {
    const ViewerSession session(
        authenticate_dialler(dial(to, monotonic_ns() + timeout_ns, DialMode::tcp), {.key = {}, .insecure = true}),
        {.dial = &to}, over_tcp());
    ADD_FAILURE() << "it was not refused";
  } catch (const Error& error) {
    EXPECT_EQ(error.status(), ExitStatus::refused);
    EXPECT_NE(std::string(error.what()).find("its 8 viewers already"), std::string::npos) << error.what();
  }
  sender.join();
}

/// An older sender would not refuse it itself.
TEST_F(SessionBounds, AViewerThatWantsItsDataEncryptedAsksForAKeyItself) {
  Listener listener({.at = {.host = "127.0.0.1", .port = 0}, .insecure = true});
  const HostPort to{.host = "127.0.0.1", .port = listener.port()};
  std::thread sender([&] {
    try {
      set_up_link(listener, false);
    } catch (const Error&) {
      return;  // the viewer has refused
    }
  });
  ViewerPreferences preferences = over_tcp();
  preferences.parameters.encrypts = true;
  std::string why;
  try {
    const ViewerSession session(
        authenticate_dialler(dial(to, monotonic_ns() + timeout_ns, DialMode::tcp), {.key = {}, .insecure = true}),
        {.dial = &to}, preferences);
  } catch (const Error& error) {
    why = error.what();
  }
  sender.join();
  EXPECT_NE(why.find("--encrypt needs a key"), std::string::npos) << why;
}

/// A sender on another machine: its clock is `ahead_ns` ahead. It holds back all its answers but the one with number
/// `quick`.
void tell_time(Listener& listener, std::int64_t ahead_ns, int quick) {
  const auto [viewer, data] = set_up_link(listener);
  for (int question = 0; question < 8; ++question) {
    ClockMessage clock = read_clock(viewer.channel->receive(monotonic_ns() + timeout_ns));
    if (question != quick) {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    // As if the way back had taken all of the time.
    clock.sender_ns = clock.viewer_ns + ahead_ns;
    viewer.channel->send(to_json(clock), monotonic_ns() + timeout_ns);
  }
}

TEST_F(SessionBounds, TheClocksDifferByTheEstimateWithinItsUncertainty) {
  for (const std::int64_t ahead_ns : {std::int64_t{0}, 3600 * ns_per_s, -ns_per_s}) {
    Listener listener({.at = {.host = "127.0.0.1", .port = 0}, .insecure = true});
    const HostPort to{.host = "127.0.0.1", .port = listener.port()};
    std::thread sender([&] { tell_time(listener, ahead_ns, 5); });
    const std::int64_t begin_ns = monotonic_ns();
    const ViewerSession session(
        authenticate_dialler(dial(to, monotonic_ns() + timeout_ns, DialMode::tcp), {.key = {}, .insecure = true}),
        {.dial = &to}, over_tcp());
    const std::int64_t took_ns = monotonic_ns() - begin_ns;
    sender.join();
    const std::int64_t uncertainty_ns = session.clock().uncertainty_ns;
    // The answer's stamp is that of the question: the estimate is wrong by just the half of the round trip.
    EXPECT_NEAR(static_cast<double>(ahead_ns - session.clock().offset_ns), static_cast<double>(uncertainty_ns), 1);
    EXPECT_GT(uncertainty_ns, 0);
    // Eight round trips took place in this time, seven of them held back. The quickest is at most an eighth of it.
    EXPECT_LE(uncertainty_ns, took_ns / 8 / 2);
  }
}

/// The same, and goes on with another offset, without delay, until the viewer hangs up.
void tell_another_time(Listener& listener, std::int64_t ahead_ns) {
  const auto [viewer, data] = set_up_link(listener);
  try {
    for (int question = 0;; ++question) {
      ClockMessage clock = read_clock(viewer.channel->receive(monotonic_ns() + timeout_ns));
      if (question < ClockComparison::questions) {
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
      }
      clock.sender_ns = clock.viewer_ns + (question < ClockComparison::questions ? 0 : ahead_ns);
      viewer.channel->send(to_json(clock), monotonic_ns() + timeout_ns);
    }
  } catch (const Error&) {
    return;
  }
}

TEST_F(SessionBounds, TheClocksAreComparedAgainWhileTheSessionRuns) {
  constexpr std::int64_t ahead_ns = 3600 * ns_per_s;
  Listener listener({.at = {.host = "127.0.0.1", .port = 0}, .insecure = true});
  const HostPort to{.host = "127.0.0.1", .port = listener.port()};
  std::thread sender([&] { tell_another_time(listener, ahead_ns); });
  {
    ViewerSession session(
        authenticate_dialler(dial(to, monotonic_ns() + timeout_ns, DialMode::tcp), {.key = {}, .insecure = true}),
        {.dial = &to}, over_tcp());
    session.keep_comparing_clocks(monotonic_ns());
    session.handle_messages();
    EXPECT_LT(session.clock().offset_ns, ns_per_s) << "it is not due";
    session.keep_comparing_clocks(monotonic_ns() + ClockComparison::period_ns);
    const auto is_new = [&] {
      session.handle_messages();
      return session.clock().offset_ns > ahead_ns / 2;
    };
    EXPECT_TRUE(eventually(is_new));
    EXPECT_NEAR(static_cast<double>(ahead_ns - session.clock().offset_ns),
                static_cast<double>(session.clock().uncertainty_ns), 1);
    session.hang_up();
  }
  sender.join();
}

TEST_F(SessionBounds, TheClocksOfOneMachineDifferByNothing) {
  start();
  SubscriberOptions options{.endpoint = {}, .stream = {}, .delivery = {}};
  options.endpoint.dial = at();
  Subscriber subscriber(options, log_);
  ASSERT_TRUE(eventually([&] { return subscriber.status().state == SubscriberState::connected; }));
  EXPECT_EQ(subscriber.clock_offset().offset_ns, 0);
  EXPECT_EQ(subscriber.clock_offset().uncertainty_ns, 0);
  subscriber.close({});
}

}  // namespace
}  // namespace framewire
