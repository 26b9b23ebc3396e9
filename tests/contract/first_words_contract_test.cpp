// The contract of a connection's first bytes, as docs/wire.md has it: what each means however it is cut into pieces,
// and how dialler and listener meet.
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/wait.hpp"
#include "tests/base/eventually.hpp"
#include "tests/base/temporary_folder.hpp"
#include "tests/contract/link_pairs.hpp"
#include "transport/control/authenticate.hpp"
#include "transport/control/data_hello.hpp"
#include "transport/control/dial.hpp"
#include "transport/control/listener.hpp"
#include "transport/control/preamble.hpp"

namespace framewire::test {
namespace {

std::int64_t soon_ns() {
  return monotonic_ns() + timeout_ns;
}

void send_text(int fd, std::string_view text) {
  ASSERT_EQ(::send(fd, text.data(), text.size(), MSG_NOSIGNAL), static_cast<ssize_t>(text.size()));
}

/// Until a thread has read what there was: it sees the pieces one by one.
void let_read() {
  std::this_thread::sleep_for(std::chrono::milliseconds(2));
}

struct Opening {
  std::string bytes;
  ConnectionKind kind;
};

const std::vector<Opening>& openings() {
  static const std::vector<Opening> all{
      {"FWCTRL01", ConnectionKind::plain_control},
      {"FWDATA01", ConnectionKind::data},
      {std::string("\x16\x03\x01\x01\x00\x01\x00\x00", 8), ConnectionKind::tls},
      {"FWCTRL02", ConnectionKind::other_version},
      {"FWDATA99", ConnectionKind::other_version},
  };
  return all;
}

TEST(FirstWords, MeanTheSameHoweverTheyAreCut) {
  for (const Opening& opening : openings()) {
    for (const std::vector<std::size_t>& cuts :
         std::vector<std::vector<std::size_t>>{{}, {1}, {7}, {1, 2}, {2, 5, 6}}) {
      auto [ours, theirs] = unix_socket_pair();
      std::thread peer([&opening, &cuts, fd = theirs.get()] {
        std::size_t sent = 0;
        for (const std::size_t cut : cuts) {
          send_text(fd, std::string_view(opening.bytes).substr(sent, cut - sent));
          sent = cut;
          let_read();
        }
        send_text(fd, std::string_view(opening.bytes).substr(sent));
      });
      EXPECT_EQ(identify(ours.get(), INT64_MAX), opening.kind)
          << opening.bytes << " in " << cuts.size() + 1 << " pieces";
      peer.join();
    }
  }
}

/// A peer that says a part and ends does not keep who listens, nor one that says what nothing begins with.
TEST(FirstWords, ThatEndEarlyAreNotWaitedFor) {
  for (const Opening& opening : openings()) {
    for (std::size_t length = 0; length < opening.bytes.size(); ++length) {
      auto [ours, theirs] = unix_socket_pair();
      std::thread peer([bytes = opening.bytes.substr(0, length), fd = std::move(theirs)] {
        send_text(fd.get(), bytes);
        let_read();
        ::shutdown(fd.get(), SHUT_WR);
        let_read();
      });
      EXPECT_EQ(identify(ours.get(), INT64_MAX), ConnectionKind::silent) << opening.bytes << " " << length;
      peer.join();
    }
  }
  auto [ours, theirs] = unix_socket_pair();
  send_text(theirs.get(), "G");
  EXPECT_EQ(identify(ours.get(), INT64_MAX), ConnectionKind::unrecognized);
}

/// An end to which somebody says nothing but that it hangs up may try again; others are no framewire.
TEST(FirstWords, OfAnAnswerSayWhetherToComeBack) {
  AuthenticateOptions with_key;
  with_key.key = Key(std::array<std::byte, 32>{});
  AuthenticateOptions without_key;
  without_key.insecure = true;
  for (const AuthenticateOptions& options : {with_key, without_key}) {
    for (const std::string& answer :
         {std::string(), std::string("X"), std::string("FWR"), std::string("HTTP/1.1 400\r\n")}) {
      auto [ours, theirs] = tcp_socket_pair();
      std::thread peer([&answer, fd = std::move(theirs)] {
        std::array<char, 4096> first{};
        EXPECT_GT(::recv(fd.get(), first.data(), first.size(), 0), 0);
        send_text(fd.get(), answer);
        let_read();
      });
      std::optional<ExitStatus> status;
      try {
        authenticate_dialler({.fd = std::move(ours), .is_unix = false, .address = "host"}, options);
      } catch (const Error& error) {
        status = error.status();
      }
      EXPECT_EQ(status, answer.empty() ? ExitStatus::lost_peer : ExitStatus::failed) << "'" << answer << "'";
      peer.join();
    }
  }
}

TEST(FirstWords, OfAnotherVersionAreAnswered) {
  auto [ours, theirs] = unix_socket_pair();
  send_text(theirs.get(), "FWCTRL07\r\n\r\n");
  EXPECT_THROW(authenticate_listener({.fd = std::move(ours), .is_unix = true, .address = "peer"}, {}), Error);
  std::string answer(4096, '\0');
  const ssize_t got = ::recv(theirs.get(), answer.data(), answer.size(), MSG_WAITALL);
  ASSERT_GT(got, 8);
  EXPECT_EQ(answer.substr(0, 8), "FWREPL01");
  EXPECT_NE(answer.find("refused"), std::string::npos);
  EXPECT_NE(answer.find("version 7"), std::string::npos);
}

// ---- What a data connection begins with ----

DataHello some_hello() {
  DataHello hello;
  hello.connection = {random_session_id(), LinkKind::tcp, 7};
  hello.proof.fill(std::byte{0x5a});
  return hello;
}

TEST(DataHelloContract, EveryByteCounts) {
  const DataHello hello = some_hello();
  auto bytes = encode_data_hello(hello);
  const auto read = decode_data_hello(bytes);
  ASSERT_TRUE(read);
  EXPECT_EQ(read->connection, hello.connection);
  EXPECT_EQ(read->proof, hello.proof);
  constexpr std::size_t link_at = 24;
  constexpr std::size_t index_at = 25;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    auto changed = bytes;
    changed.at(i) ^= std::byte{0x80};
    const auto other = decode_data_hello(changed);
    const bool is_refused = i < preamble_bytes || i == link_at || i == index_at + 1 || i == index_at + 2;
    EXPECT_EQ(other.has_value(), !is_refused) << "byte " << i;
    EXPECT_TRUE(!other || other->connection != hello.connection || other->proof != hello.proof) << "byte " << i;
  }
}

TEST(DataHelloContract, EveryByteOfANativeOneCounts) {
  DataHello hello = some_hello();
  hello.connection.link = LinkKind::rdma;
  const ConnectHello bytes = encode_connect_hello(hello);
  const auto read = decode_connect_hello(bytes, LinkKind::rdma);
  ASSERT_TRUE(read);
  EXPECT_EQ(read->connection, hello.connection);
  EXPECT_EQ(read->proof, hello.proof);
  EXPECT_FALSE(decode_connect_hello(std::span(bytes).first(bytes.size() - 1), LinkKind::rdma));
  std::vector<std::byte> padded(bytes.begin(), bytes.end());
  padded.resize(bytes.size() + 100);
  EXPECT_TRUE(decode_connect_hello(padded, LinkKind::rdma)) << "connection managers pad private data";
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    ConnectHello changed = bytes;
    changed.at(i) ^= std::byte{0x80};
    const auto other = decode_connect_hello(changed, LinkKind::rdma);
    const bool is_refused = i < 4 || (i > 4 && i < 8);
    EXPECT_EQ(other.has_value(), !is_refused) << "byte " << i;
    EXPECT_TRUE(!other || other->connection != hello.connection || other->proof != hello.proof) << "byte " << i;
  }
}

TEST(DataHelloContract, ATokenIsGoodOnceForItsConnection) {
  IssuedTokens tokens;
  const DataConnectionId connection{random_session_id(), LinkKind::tcp, 0};
  const Token token = tokens.issue(connection, monotonic_ns());
  const DataHello good{.connection = connection, .proof = make_proof(token, connection, ProofRole::dialler)};
  DataHello unknown = good;
  unknown.connection.session = random_session_id();
  EXPECT_NE(unknown.connection.session, connection.session);
  EXPECT_FALSE(tokens.redeem(unknown, monotonic_ns()));
  DataHello other_link = good;
  other_link.connection.link = LinkKind::local;
  EXPECT_FALSE(tokens.redeem(other_link, monotonic_ns()));
  DataHello other_role = good;
  other_role.proof = make_proof(token, connection, ProofRole::listener);
  EXPECT_FALSE(tokens.redeem(other_role, monotonic_ns()));
  EXPECT_TRUE(tokens.redeem(good, monotonic_ns()));
  EXPECT_FALSE(tokens.redeem(good, monotonic_ns())) << "a second time";
}

// ---- How they meet ----

class Meeting : public testing::Test {
 protected:
  Meeting() { ::setenv("XDG_CONFIG_HOME", folder_.path().c_str(), 1); }
  static std::optional<AcceptedSocket> accept(Listener& listener) {
    auto descriptors = listener.descriptors();
    wait_until(descriptors, soon_ns());
    return listener.accept();
  }
  static int option_of(int fd, int level, int option) {
    int value = -1;
    socklen_t bytes = sizeof value;
    EXPECT_EQ(::getsockopt(fd, level, option, &value, &bytes), 0);
    return value;
  }

  TemporaryFolder folder_;
};

/// Over its Unix socket, where there is one: nothing else is tried before.
TEST_F(Meeting, OfOneUsersProgramsIsOneConnection) {
  Listener listener({.at = {.host = "127.0.0.1", .port = 0}, .insecure = true});
  const DialledSocket dialled = dial({.host = "127.0.0.1", .port = listener.port()}, soon_ns());
  EXPECT_TRUE(dialled.is_unix);
  const auto accepted = accept(listener);
  ASSERT_TRUE(accepted);
  EXPECT_TRUE(accepted->is_unix);
  EXPECT_FALSE(listener.accept()) << "a second connection";
}

TEST_F(Meeting, OverTcpSendsSmallThingsAtOnce) {
  Listener listener({.at = {.host = "127.0.0.1", .port = 0}, .insecure = true});
  const DialledSocket dialled = dial({.host = "127.0.0.1", .port = listener.port()}, soon_ns(), DialMode::tcp);
  EXPECT_FALSE(dialled.is_unix);
  const auto accepted = accept(listener);
  ASSERT_TRUE(accepted);
  EXPECT_FALSE(accepted->is_unix);
  EXPECT_NE(option_of(dialled.fd.get(), IPPROTO_TCP, TCP_NODELAY), 0);
  EXPECT_NE(option_of(accepted->fd.get(), IPPROTO_TCP, TCP_NODELAY), 0);
  EXPECT_FALSE(listener.accept()) << "a second connection";
}

/// Somebody listens, and is busy.
TEST_F(Meeting, WaitsWhereTheUnixSocketsQueueIsFull) {
  const std::uint16_t port = 3;  // no other program's
  const SocketAddress address = unix_address(port);
  const FileDescriptor listening(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  ASSERT_EQ(::bind(listening.get(), address.get(), address.size_bytes), 0);
  ASSERT_EQ(::listen(listening.get(), 0), 0);
  std::vector<FileDescriptor> waiting;
  int error_number = 0;
  while (error_number == 0) {
    waiting.push_back(connect_to(address, soon_ns(), error_number));
  }
  ASSERT_EQ(error_number, EAGAIN);
  std::thread busy([&] {
    let_read();
    for (std::size_t i = 0; i < waiting.size(); ++i) {
      FileDescriptor(::accept4(listening.get(), nullptr, nullptr, SOCK_CLOEXEC)).reset();
    }
  });
  EXPECT_TRUE(dial({.host = "127.0.0.1", .port = port}, soon_ns()).is_unix);
  busy.join();
}

TEST_F(Meeting, IsPossibleOnAllAddressesWithAKeyOnly) {
  for (const char* const host : {"*", ""}) {
    const Listener listener({.at = {.host = host, .port = 0}, .has_key = true});
    EXPECT_TRUE(listener.is_beyond_loopback()) << host;
    EXPECT_FALSE(listener.addresses().empty());
  }
  const Listener here({.at = {.host = "", .port = 0}});
  EXPECT_FALSE(here.is_beyond_loopback());
  EXPECT_THROW(Listener({.at = {.host = "*", .port = 0}}), Error);
  EXPECT_THROW(Listener({.at = {.host = "192.0.2.1", .port = 5290}, .insecure = true}), Error) << "another machine's";
}

}  // namespace
}  // namespace framewire::test
