// Loads on a sender's service: peers that greet and then stay silent, many sessions, no file descriptors left.
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/wait.hpp"
#include "tests/base/eventually.hpp"
#include "tests/base/free_port.hpp"
#include "tests/base/logs.hpp"
#include "tests/base/temporary_folder.hpp"
#include "transport/control/data_hello.hpp"
#include "transport/control/preamble.hpp"
#include "transport/session/data_link.hpp"
#include "transport/session/handshake.hpp"
#include "transport/session/sender_service.hpp"
#include "transport/session/subscriber.hpp"

namespace framewire {
namespace {

using test::eventually;
using test::timeout_ns;

/// The log's line about a handshake that this side ended. One that ran out of its own time is refused instead.
constexpr const char* ended_by_this_side = "a viewer was still shaking hands at the end\n";

bool is_hung_up(MessageChannel& channel) {
  try {
    for (;;) {
      channel.receive(monotonic_ns() + timeout_ns);
    }
  } catch (const Error& error) {
    return std::string(error.what()).find("in time") == std::string::npos;
  }
}

/// Uses a configuration folder without a key, so that this machine's own key has no effect.
class Service : public testing::Test {
 protected:
  Service() { ::setenv("XDG_CONFIG_HOME", folder_.path().c_str(), 1); }

  void start() { start({&stream_}); }

  void start(const std::vector<Stream*>& streams) {
    EndpointOptions listening;
    listening.listen = HostPort{"127.0.0.1", 0};
    service_ = std::make_unique<SenderService>(listening, streams, "test", log_);
  }

  /// Does a viewer's handshake up to the sender's hello. The session then waits for the viewer's hello.
  AuthenticatedChannel greet() const {
    AuthenticatedChannel viewer = authenticate_dialler(
        dial({.host = "127.0.0.1", .port = service_->port()}, monotonic_ns() + timeout_ns), AuthenticateOptions{});
    EXPECT_EQ(message_type(viewer.channel->receive(monotonic_ns() + timeout_ns)), "hello");
    return viewer;
  }

  std::vector<std::string> offered_streams() const {
    const AuthenticatedChannel viewer = greet();
    viewer.channel->send(to_json(HelloMessage{.role = "viewer", .program = "test"}));
    std::vector<std::string> names;
    for (const OfferedStream& stream : read_offer(viewer.channel->receive(monotonic_ns() + timeout_ns)).streams) {
      names.push_back(stream.name);
    }
    return names;
  }

  /// Does a viewer's handshake up to the sender's connect message. The session then waits for the data connection.
  AuthenticatedChannel choose() const {
    AuthenticatedChannel viewer = greet();
    MessageChannel& channel = *viewer.channel;
    channel.send(to_json(HelloMessage{.role = "viewer", .program = "test"}));
    read_offer(channel.receive(monotonic_ns() + timeout_ns));
    channel.send(
        to_json(ChooseMessage{.stream = 0, .link = LinkKind::local, .delivery = Delivery::latest, .token = {}}));
    read_connect(channel.receive(monotonic_ns() + timeout_ns), LinkKind::tcp);
    return viewer;
  }

  test::TemporaryFolder folder_;
  test::KeptLog kept_;
  Log& log_ = kept_;
  Stream stream_{StreamOptions{.name = "test", .delivery = Delivery::every}};
  std::unique_ptr<SenderService> service_;
};

TEST_F(Service, PeersThatGoSilentInTheirHandshakeDoNotHoldUpTheEnd) {
  start();
  const std::int64_t begin_ns = monotonic_ns();
  const AuthenticatedChannel silent = greet();
  const AuthenticatedChannel late = choose();
  stream_.finish();
  service_->drain(begin_ns);
  EXPECT_LT(monotonic_ns(), begin_ns + handshake_timeout_ns) << "they were left to their own time";
  EXPECT_TRUE(is_hung_up(*silent.channel));
  EXPECT_TRUE(is_hung_up(*late.channel));
  EXPECT_TRUE(service_->reports().empty()) << "neither was a session";
}

TEST_F(Service, NorDoTheyHoldUpItsDestructor) {
  start();
  const std::int64_t begin_ns = monotonic_ns();
  const AuthenticatedChannel silent = greet();
  const AuthenticatedChannel late = choose();
  service_.reset();
  EXPECT_LT(monotonic_ns(), begin_ns + handshake_timeout_ns) << "they were left to their own time";
  EXPECT_TRUE(is_hung_up(*silent.channel));
  EXPECT_TRUE(is_hung_up(*late.channel));
}

TEST_F(Service, TheSoonestCutCounts) {
  start();
  const AuthenticatedChannel silent = greet();
  stream_.finish();
  service_->cut_at(monotonic_ns());
  service_->drain(INT64_MAX);  // a later call with a later time does not move the cut
  service_.reset();            // joins the thread that writes the line
  EXPECT_NE(kept_.text().find(ended_by_this_side), std::string::npos) << kept_.text();
  EXPECT_TRUE(is_hung_up(*silent.channel));
}

TEST_F(Service, ACutMeanwhileMovesTheEndCloser) {
  start();
  const AuthenticatedChannel silent = greet();
  stream_.finish();
  std::thread signals([this] { service_->cut_at(monotonic_ns()); });
  service_->drain(INT64_MAX);
  signals.join();
  service_.reset();  // joins the thread that writes the line
  EXPECT_NE(kept_.text().find(ended_by_this_side), std::string::npos) << kept_.text();
  EXPECT_TRUE(is_hung_up(*silent.channel));
}

TEST_F(Service, NoSessionBeginsAfterTheCut) {
  start();
  service_->cut_at(monotonic_ns());
  const AuthenticatedChannel viewer = authenticate_dialler(
      dial({.host = "127.0.0.1", .port = service_->port()}, monotonic_ns() + timeout_ns), AuthenticateOptions{});
  EXPECT_THROW(viewer.channel->receive(monotonic_ns() + timeout_ns), Error) << "no hello: it is hung up on";
}

TEST_F(Service, AStreamThatHasEndedIsNotOfferedWhileOthersGoOn) {
  using Names = std::vector<std::string>;
  Stream other{StreamOptions{.name = "other", .number = 1}};
  start({&stream_, &other});
  EXPECT_EQ(offered_streams(), (Names{"test", "other"}));
  stream_.finish();
  EXPECT_EQ(offered_streams(), (Names{"other"}));
  other.finish();
  EXPECT_EQ(offered_streams(), (Names{"test", "other"})) << "a late viewer is told of the end";
  service_.reset();  // before the streams
}

TEST_F(Service, LogLinesNameTheStreamIfThereAreSeveral) {
  Stream other{StreamOptions{.name = "other", .number = 1}};
  for (const bool are_several : {false, true}) {
    start(are_several ? std::vector<Stream*>{&stream_, &other} : std::vector<Stream*>{&stream_});
    SubscriberOptions options{.endpoint = {}, .stream = {}, .delivery = {}};
    options.endpoint.dial = HostPort{"127.0.0.1", service_->port()};
    Subscriber subscriber(options, log_);
    EXPECT_TRUE(eventually([&] { return stream_.viewer_count() == 1; }));
    subscriber.close({});
    EXPECT_TRUE(eventually([&] { return !service_->reports().empty(); }));
    EXPECT_EQ(kept_.text().find(" of test: transport=local") != std::string::npos, are_several) << kept_.text();
    EXPECT_EQ(kept_.text().find(" of test (local): ") != std::string::npos, are_several) << kept_.text();
    service_.reset();
  }
}

TEST_F(Service, CountsOfAllSessionsAreExactHoweverManyThereWere) {
  constexpr std::size_t sessions = SessionHistory::kept_reports + 6;
  start();
  std::thread source([this] {
    stream_.begin_epoch({.layout = bytes_layout(100), .colour = {}});
    while (auto slot = stream_.claim()) {
      stream_.publish(std::move(*slot), {.has_test_pattern = false, .layout = {}});
    }
    stream_.finish();
  });
  std::uint64_t received = 0;
  for (std::size_t i = 0; i < sessions; ++i) {
    SubscriberOptions options{.endpoint = {}, .stream = {}, .delivery = {}};
    options.endpoint.dial = HostPort{"127.0.0.1", service_->port()};
    Subscriber subscriber(options, log_);
    EXPECT_TRUE(eventually([&] { return subscriber.next().has_value(); }));
    subscriber.close(i == 0 ? std::string(R"({"frames_shown":1})") : std::string());
    received += subscriber.counts().frames_received;
    EXPECT_TRUE(eventually([&] { return stream_.viewer_count() == 0; })) << "one after the other";
  }
  stream_.stop();
  source.join();
  service_->drain(monotonic_ns() + timeout_ns);
  const auto reports = service_->reports();
  ASSERT_EQ(reports.size(), 1 + SessionHistory::kept_reports);
  EXPECT_EQ(reports.front().viewer, "6 earlier sessions");
  EXPECT_EQ(reports.front().transport, "local");
  std::uint64_t frames_received = 0;
  for (const SessionReport& report : reports) {
    EXPECT_EQ(report.counts.frames_produced, report.counts.frames_skipped + report.counts.frames_sent);
    EXPECT_EQ(report.counts.frames_sent, report.frames_received + report.frames_lost);
    EXPECT_TRUE(report.bye_received);
    frames_received += report.frames_received;
  }
  EXPECT_EQ(frames_received, received);
}

TEST(SessionHistory, KeepsTheLastReportsAndTheSumsOfAll) {
  SessionHistory history;
  EXPECT_TRUE(history.reports().empty());
  constexpr std::uint64_t sessions = 1000;
  for (std::uint64_t i = 1; i <= sessions; ++i) {
    history.add(
        {.viewer = std::to_string(i),
         .stream = "test",
         .transport = i == 7 ? "tcp" : "local",
         .ending = "the stream ended",
         .bye_received = true,
         .counts = {.frames_produced = 10 * i, .frames_skipped = 8 * i, .frames_sent = 2 * i, .bytes_sent = 3 * i},
         .frames_received = i,
         .frames_lost = i,
         .frames_pulled = 4 * i,
         .viewer_statistics = "{}"});
  }
  const auto reports = history.reports();
  ASSERT_EQ(reports.size(), 1 + SessionHistory::kept_reports);
  EXPECT_EQ(reports.front().viewer, "936 earlier sessions");
  EXPECT_EQ(reports.front().stream, "test");
  EXPECT_EQ(reports.front().transport, "several");
  EXPECT_TRUE(reports.front().bye_received);
  EXPECT_TRUE(reports.front().viewer_statistics.empty());
  EXPECT_EQ(reports[1].viewer, "937");
  EXPECT_EQ(reports.back().viewer, "1000");
  EXPECT_EQ(reports.back().viewer_statistics, "{}");
  SessionReport sum;
  for (const SessionReport& report : reports) {
    sum.counts += report.counts;
    sum.frames_received += report.frames_received;
    sum.frames_lost += report.frames_lost;
    sum.frames_pulled += report.frames_pulled;
  }
  constexpr std::uint64_t one_to_all = sessions * (sessions + 1) / 2;
  EXPECT_EQ(sum.counts.frames_produced, 10 * one_to_all);
  EXPECT_EQ(sum.counts.frames_skipped, 8 * one_to_all);
  EXPECT_EQ(sum.counts.frames_sent, 2 * one_to_all);
  EXPECT_EQ(sum.counts.bytes_sent, 3 * one_to_all);
  EXPECT_EQ(sum.frames_received, one_to_all);
  EXPECT_EQ(sum.frames_lost, one_to_all);
  EXPECT_EQ(sum.frames_pulled, 4 * one_to_all);
}

TEST(SessionHistory, AddsUpEachStreamByItself) {
  SessionHistory history;
  constexpr std::uint64_t sessions = SessionHistory::kept_reports + 5;
  for (std::uint64_t i = 0; i < sessions; ++i) {
    SessionReport report;
    report.stream = i % 2 == 0 ? "left" : "right";
    report.frames_received = i;
    history.add(report);
  }
  const auto reports = history.reports();
  ASSERT_EQ(reports.size(), 2 + SessionHistory::kept_reports);
  EXPECT_EQ(reports[0].viewer, "3 earlier sessions");
  EXPECT_EQ(reports[0].stream, "left");
  EXPECT_EQ(reports[0].frames_received, 0U + 2 + 4);
  EXPECT_EQ(reports[1].viewer, "2 earlier sessions");
  EXPECT_EQ(reports[1].stream, "right");
  EXPECT_EQ(reports[1].frames_received, 1U + 3);
}

TEST(SessionHistory, AddsUpNothingThatItStillKeeps) {
  SessionHistory history;
  SessionReport report;
  for (std::size_t i = 0; i < SessionHistory::kept_reports; ++i) {
    report.viewer = std::to_string(i);
    history.add(report);
  }
  ASSERT_EQ(history.reports().size(), SessionHistory::kept_reports);
  EXPECT_EQ(history.reports().front().viewer, "0");
}

TEST(SessionHistory, DropsStatisticsThatAreTooLong) {
  SessionHistory history;
  SessionReport report;
  report.viewer_statistics.assign(SessionHistory::longest_statistics_bytes, 'x');
  history.add(report);
  report.viewer_statistics += 'x';
  history.add(report);
  EXPECT_EQ(history.reports()[0].viewer_statistics.size(), SessionHistory::longest_statistics_bytes);
  EXPECT_TRUE(history.reports()[1].viewer_statistics.empty());
}

/// While it lives, this process can open only `more` further file descriptors.
class FewDescriptors {
 public:
  explicit FewDescriptors(rlim_t more) {
    ::getrlimit(RLIMIT_NOFILE, &before_);
    const FileDescriptor lowest(::dup(STDERR_FILENO));
    rlimit few = before_;
    few.rlim_cur = static_cast<rlim_t>(lowest.get()) + more;
    ::setrlimit(RLIMIT_NOFILE, &few);
  }
  ~FewDescriptors() { ::setrlimit(RLIMIT_NOFILE, &before_); }
  FewDescriptors(const FewDescriptors&) = delete;
  FewDescriptors& operator=(const FewDescriptors&) = delete;

 private:
  rlimit before_{};
};

TEST(SessionAcceptor, StillAcceptsAfterRunningOutOfDescriptorsOften) {
  constexpr int moments = 120;  // more than the acceptor examines at a time
  test::ShownLog log;
  std::atomic<int> sessions = 0;
  SessionAcceptor acceptor(
      {.at = {.host = "127.0.0.1", .port = 0}}, {}, AuthenticateOptions{},
      [&](SessionAcceptor&, const AuthenticatedChannel&) { ++sessions; }, log);
  const SocketAddress address = unix_address(acceptor.port());
  std::vector<FileDescriptor> peer_sockets;
  for (int i = 0; i < moments; ++i) {
    peer_sockets.emplace_back(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  }
  {
    // One descriptor for the connection; its duplicate fails.
    const FewDescriptors one(1);
    for (const FileDescriptor& peer_socket : peer_sockets) {
      ASSERT_EQ(::connect(peer_socket.get(), address.get(), address.size_bytes), 0);
      ::shutdown(peer_socket.get(), SHUT_WR);
      ASSERT_TRUE(wait_for(peer_socket.get(), POLLIN, monotonic_ns() + timeout_ns)) << "is closed";
    }
  }
  authenticate_dialler(dial({.host = "127.0.0.1", .port = acceptor.port()}, monotonic_ns() + timeout_ns),
                       AuthenticateOptions{});
  EXPECT_TRUE(eventually([&] { return sessions == 1; }));
}

TEST(SessionAcceptor, RestsWhileThereAreNoDescriptors) {
  test::KeptLog log;
  const SessionAcceptor acceptor(
      {.at = {.host = "127.0.0.1", .port = 0}}, {}, AuthenticateOptions{},
      [](SessionAcceptor&, const AuthenticatedChannel&) {}, log);
  const SocketAddress address = unix_address(acceptor.port());
  const FileDescriptor peer_socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const FewDescriptors none(0);
  ASSERT_EQ(::connect(peer_socket.get(), address.get(), address.size_bytes), 0);
  ASSERT_TRUE(eventually([&] { return log.text().find("cannot accept a connection") != std::string::npos; }));
  constexpr std::int64_t while_ns = 300 * ns_per_ms;
  const std::int64_t cpu_before_ns = process_cpu_ns();
  std::this_thread::sleep_for(std::chrono::nanoseconds(while_ns));
  EXPECT_LT(process_cpu_ns() - cpu_before_ns, while_ns / 3) << "the connection stays there, and wakes the acceptor";
}

TEST(SessionAcceptor, TakesNothingByTcpThatIsToComeByRdma) {
  test::ShownLog log;
  SessionAcceptor acceptor(
      {.at = {.host = "127.0.0.1", .port = 0}}, {}, AuthenticateOptions{},
      [](SessionAcceptor&, const AuthenticatedChannel&) {}, log);
  for (const LinkKind link : {LinkKind::tcp, LinkKind::rdma}) {
    const DataConnectionId connection{random_session_id(), link, 0};
    const Token token = acceptor.issue(connection);
    const std::int64_t deadline_ns = monotonic_ns() + timeout_ns;
    const DialledSocket dialled = dial({.host = "127.0.0.1", .port = acceptor.port()}, deadline_ns, DialMode::tcp);
    send_data_hello(dialled.fd.get(), token, connection, deadline_ns);
    if (link == LinkKind::tcp) {
      EXPECT_NO_THROW(read_data_answer(dialled.fd.get(), token, connection, deadline_ns));
      EXPECT_TRUE(acceptor.await_data(connection, deadline_ns));
    } else {
      EXPECT_THROW(read_data_answer(dialled.fd.get(), token, connection, deadline_ns), Error);
      EXPECT_FALSE(acceptor.await_data(connection, monotonic_ns()));
    }
  }
}

TEST(DialData, EndsWithItsSession) {
  const FileDescriptor silent(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));  // accepts connections, sends nothing
  const std::uint16_t port = ntohs(test::bind_to_free_port(silent).sin_port);
  ASSERT_EQ(::listen(silent.get(), 1), 0);
  std::array<int, 2> session{};
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, session.data()), 0);
  const FileDescriptor ours(session[0]);
  FileDescriptor peers(session[1]);
  peers.reset();
  try {
    dial_data({.host = "127.0.0.1", .port = port}, {}, Token::random(), {random_session_id(), LinkKind::tcp, 0},
              {.cancel_fd = ours.get()});
    FAIL();
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "the session ended before its data connection stood");
  }
}

TEST(SessionAcceptor, EndsWaitsForDataThatAreUnderWayAndThoseToCome) {
  test::ShownLog log;
  SessionAcceptor acceptor(
      {.at = {.host = "127.0.0.1", .port = 0}}, {}, AuthenticateOptions{},
      [](SessionAcceptor&, const AuthenticatedChannel&) {}, log);
  const DataConnectionId connection{random_session_id(), LinkKind::local, 0};
  std::atomic<int> ended = 0;
  const auto await = [&] {
    try {
      acceptor.await_data(connection, monotonic_ns() + timeout_ns);
    } catch (const Error& error) {
      ended += error.status() == ExitStatus::lost_peer ? 1 : 0;
    }
  };
  std::thread waiting(await);
  acceptor.end_waits();
  waiting.join();
  await();
  EXPECT_EQ(ended, 2) << "at its deadline a wait returns nothing";
}

bool has_thread(const std::string& name) {
  const std::filesystem::directory_iterator threads("/proc/self/task");
  return std::any_of(begin(threads), end(threads), [&](const auto& one) {
    std::string found;
    std::getline(std::ifstream(one.path() / "comm"), found);
    return found == name;
  });
}

FileDescriptor half_a_greeting_to(std::uint16_t port) {
  FileDescriptor peer_socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const SocketAddress address = unix_address(port);
  const std::string_view half = control_greeting.substr(0, preamble_bytes);
  EXPECT_EQ(::connect(peer_socket.get(), address.get(), address.size_bytes), 0);
  EXPECT_EQ(::send(peer_socket.get(), half.data(), half.size(), 0), static_cast<ssize_t>(half.size()));
  return peer_socket;
}

TEST(SessionAcceptor, DoesNotLogAConnectionThatItClosesAtShutdown) {
  test::KeptLog kept;
  FileDescriptor peer_socket;
  {
    const SessionAcceptor acceptor(
        {.at = {.host = "127.0.0.1", .port = 0}}, {}, AuthenticateOptions{},
        [](SessionAcceptor&, const AuthenticatedChannel&) {}, kept);
    peer_socket = half_a_greeting_to(acceptor.port());
    ASSERT_TRUE(eventually([] { return has_thread("fw-session"); }));
  }
  EXPECT_EQ(kept.text(), "");
  char nothing = 0;
  EXPECT_EQ(::recv(peer_socket.get(), &nothing, 1, MSG_WAITALL), 0) << "is closed";
}

TEST(SessionAcceptor, LogsWhyItRefusesAPeerThatDisconnects) {
  test::KeptLog kept;
  const SessionAcceptor acceptor(
      {.at = {.host = "127.0.0.1", .port = 0}}, {}, AuthenticateOptions{},
      [](SessionAcceptor&, const AuthenticatedChannel&) {}, kept);
  half_a_greeting_to(acceptor.port());
  EXPECT_TRUE(eventually([&] {
    return kept.text().find("refused a connection from this machine") != std::string::npos;
  })) << kept.text();
}

TEST(Reached, IsTheVeryAddressOfATcpConnectionAndTheNameOtherwise) {
  Listener listener({.at = {.host = "127.0.0.1", .port = 0}});
  const HostPort asked{.host = "localhost", .port = listener.port()};
  const DialledSocket by_tcp = dial(asked, monotonic_ns() + timeout_ns, DialMode::tcp);
  EXPECT_EQ(reached(by_tcp, asked).host, "127.0.0.1");
  EXPECT_EQ(reached(by_tcp, asked).port, listener.port());
  const DialledSocket by_unix = dial(asked, monotonic_ns() + timeout_ns);
  ASSERT_TRUE(by_unix.is_unix);
  EXPECT_EQ(reached(by_unix, asked).host, "localhost");
}

}  // namespace
}  // namespace framewire
