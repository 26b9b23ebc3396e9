// A data connection inside TLS: bytes that arrive, bytes that are refused, and which side waits.
#include "transport/tls/tls_wire.hpp"
#include "transport/control/token.hpp"

#include <gtest/gtest.h>
#include <openssl/ssl.h>
#include <sys/socket.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <future>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/wait.hpp"
#include "tests/base/eventually.hpp"
#include "tests/contract/link_pairs.hpp"
#include "transport/tcp/tcp_receiver.hpp"
#include "transport/tcp/tcp_sender.hpp"
#include "transport/tls/bio.hpp"
#include "transport/tls/tls_handshake.hpp"
#include "transport/tls/tls_psk.hpp"

namespace framewire::test {
namespace {

constexpr std::size_t record_bytes = 16384;

std::vector<std::byte> pattern(std::size_t size_bytes, std::size_t seed = 0) {
  std::vector<std::byte> bytes(size_bytes);
  for (std::size_t i = 0; i < size_bytes; ++i) {
    bytes[i] = static_cast<std::byte>((i + seed) * 31 >> 3);
  }
  return bytes;
}

iovec part_of(std::span<const std::byte> bytes) {
  return {const_cast<std::byte*>(bytes.data()), bytes.size()};
}

class TlsWires : public testing::Test {
 protected:
  TlsWires() { connect(); }

  void connect(std::uint32_t records_per_key = max_records_per_key) {
    auto [a, b] = tcp_socket_pair();
    std::tie(one_, two_) = tls_wire_pair(std::move(a), std::move(b), records_per_key);
  }

  /// Sends `bytes` past TLS, directly on the socket, as an attacker would.
  void inject(std::span<const std::byte> bytes) const {
    ASSERT_EQ(::send(one_->fd(), bytes.data(), bytes.size(), MSG_NOSIGNAL), static_cast<ssize_t>(bytes.size()));
  }

  std::unique_ptr<TlsWire> one_;
  std::unique_ptr<TlsWire> two_;
};

/// Waits while the other side does not read. False when the connection is gone.
bool write_all(ByteWire& wire, std::span<iovec> parts) {
  for (;;) {
    switch (wire.write_some(parts)) {
      case WireWrite::done:
        return true;
      case WireWrite::more:
        break;
      case WireWrite::full:
        EXPECT_TRUE(wait_for(wire.fd(), POLLOUT, monotonic_ns() + timeout_ns));
        break;
      case WireWrite::failed:
      case WireWrite::no_file:
        return false;
    }
  }
}

/// Waits for the bytes that are missing.
WireStatus read_all(ByteWire& wire, std::span<std::byte> into) {
  while (!into.empty()) {
    const WireRead got = wire.read(into, {});
    if (got.status == WireStatus::again) {
      EXPECT_TRUE(wait_for(wire.fd(), POLLIN, monotonic_ns() + timeout_ns));
    } else if (got.status != WireStatus::moved) {
      return got.status;
    }
    into = into.subspan(got.bytes);
  }
  return WireStatus::moved;
}

TEST_F(TlsWires, PartsOfAnySizeComeInOneStream) {
  for (const std::uint32_t records_per_key : {max_records_per_key, 1U}) {
    connect(records_per_key);
    std::vector<std::vector<std::byte>> parts;
    std::vector<std::byte> whole;
    for (const std::size_t size : {std::size_t{0}, std::size_t{1}, std::size_t{160}, record_bytes - 1, record_bytes,
                                   record_bytes + 1, 40 * record_bytes + 7, std::size_t{0}, std::size_t{3}}) {
      parts.push_back(pattern(size, whole.size()));
      whole.insert(whole.end(), parts.back().begin(), parts.back().end());
    }
    auto writing = std::async(std::launch::async, [&] {
      std::vector<iovec> vectors;
      for (const auto& part : parts) {
        vectors.push_back(part_of(part));
      }
      return write_all(*one_, vectors);
    });
    std::vector<std::byte> got(whole.size());
    EXPECT_EQ(read_all(*two_, got), WireStatus::moved);
    EXPECT_TRUE(writing.get());
    EXPECT_TRUE(got == whole);
  }
}

TEST_F(TlsWires, BothWaysAtOnceWithNewKeysAllTheTime) {
  connect(5);
  const auto data = pattern(6'000'000);
  std::array<std::byte, 8> word{};
  constexpr int words = 3000;
  std::thread writer([&] {
    std::array vectors{part_of(data)};
    EXPECT_TRUE(write_all(*one_, vectors));
  });
  std::thread crediting([&] {
    for (int i = 0; i < words; ++i) {
      std::array vectors{part_of(word)};
      if (!write_all(*two_, vectors)) {
        ADD_FAILURE() << "word " << i;
        return;
      }
    }
  });
  std::thread reader([&] {
    std::vector<std::byte> got(data.size());
    EXPECT_EQ(read_all(*two_, got), WireStatus::moved);
    EXPECT_TRUE(got == data);
  });
  std::size_t came = 0;
  EXPECT_TRUE(eventually([&] {
    std::array<std::byte, 2048> some{};
    WireRead got;
    while ((got = one_->read(some, {})).status == WireStatus::moved) {
      came += got.bytes;
    }
    EXPECT_EQ(got.status, WireStatus::again);
    return came == words * word.size();
  }));
  writer.join();
  crediting.join();
  reader.join();
}

TEST_F(TlsWires, OnceNothingMoreIsThereTheSocketTellsOfWhatFollows) {
  const auto data = pattern(3000);
  std::array vectors{part_of(data)};
  ASSERT_TRUE(write_all(*one_, vectors));
  std::array<std::byte, 1000> part{};
  std::size_t came = 0;
  EXPECT_TRUE(eventually([&] {  // bytes that are already decrypted do not make the descriptor readable
    const WireRead got = two_->read(part, {});
    came += got.bytes;
    return came == data.size() && got.status == WireStatus::again;
  }));
  EXPECT_FALSE(wait_for(two_->fd(), POLLIN, monotonic_ns()));
  vectors = {part_of(std::span(data).first(8))};
  ASSERT_TRUE(write_all(*one_, vectors));
  EXPECT_TRUE(wait_for(two_->fd(), POLLIN, monotonic_ns() + timeout_ns));
  EXPECT_EQ(two_->read(part, {}).bytes, 8U);
}

TEST_F(TlsWires, NoFileGoesPastIt) {
  EXPECT_FALSE(one_->supports_sendfile());
  errno = 0;
  std::uint64_t offset_bytes = 0;
  std::uint64_t left_bytes = 1;
  EXPECT_EQ(one_->write_file(0, offset_bytes, left_bytes), WireWrite::no_file);
  EXPECT_EQ(errno, ENOSYS);
}

TEST_F(TlsWires, AForgedRecordIsNoticed) {
  const std::string forged = std::string("\x17\x03\x03\x00\x20", 5) + std::string(32, 'x');
  inject(std::as_bytes(std::span(forged)));
  std::array<std::byte, 8> some{};
  EXPECT_EQ(read_all(*two_, some), WireStatus::failed);
  EXPECT_TRUE(two_->saw_tampering());
  EXPECT_EQ(two_->read(some, {}).status, WireStatus::failed) << "and it stays so";
  std::array vectors{part_of(some)};
  errno = EPIPE;
  EXPECT_FALSE(write_all(*two_, vectors));
  EXPECT_EQ(errno, EBADMSG) << "nobody hung up";
}

TEST_F(TlsWires, PlainTextIsNoticed) {
  inject(pattern(4096));
  std::array<std::byte, 8> some{};
  EXPECT_EQ(read_all(*two_, some), WireStatus::failed);
  EXPECT_TRUE(two_->saw_tampering());
}

TEST_F(TlsWires, AnEndIsNoTampering) {
  one_.reset();
  std::array<std::byte, 8> some{};
  EXPECT_EQ(read_all(*two_, some), WireStatus::closed);
  EXPECT_FALSE(two_->saw_tampering());
}

TEST_F(TlsWires, ShuttingTheSocketDownEndsBothWays) {
  const auto data = pattern(64'000'000);
  auto writing = std::async(std::launch::async, [&] {  // the other side does not read
    std::array vectors{part_of(data)};
    return write_all(*two_, vectors);
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  ::shutdown(two_->fd(), SHUT_RDWR);
  std::array<std::byte, 8> some{};
  EXPECT_EQ(read_all(*two_, some), WireStatus::closed);
  EXPECT_FALSE(writing.get());
}

/// A peer that has the key, and sends messages of TLS itself instead of data: new keys, or as a listener session
/// tickets, of which OpenSSL takes any number.
class TalkativePeer {
 public:
  TalkativePeer(FileDescriptor socket, TlsRole role, const Key& key)
      : role_(role),
        socket_(std::move(socket)),
        ssl_(perform_tls_handshake({.socket = socket_.get(), .role = role, .peer = "the test"}, psk_of_data(key), bio_,
                                   monotonic_ns() + timeout_ns)) {}

  void renew_keys(int count) {
    for (int i = 0; i < count; ++i) {
      ASSERT_EQ(SSL_key_update(ssl_.get(), SSL_KEY_UPDATE_NOT_REQUESTED), 1);
      ASSERT_EQ(SSL_do_handshake(ssl_.get()), 1) << "after " << i;
    }
  }
  void talk(int count) {
    if (role_ == TlsRole::dialler) {
      return renew_keys(count);
    }
    for (int i = 0; i < count; ++i) {
      ASSERT_EQ(SSL_new_session_ticket(ssl_.get()), 1);
      ASSERT_EQ(SSL_do_handshake(ssl_.get()), 1) << "after " << i;
    }
  }
  void say(std::string_view text) {
    std::size_t written = 0;
    ASSERT_EQ(SSL_write_ex(ssl_.get(), text.data(), text.size(), &written), 1);
  }

 private:
  TlsRole role_;
  FileDescriptor socket_;
  SocketBio bio_;
  SslPointer ssl_;
};

class MessagesOfTls : public testing::TestWithParam<TlsRole> {
 protected:
  MessagesOfTls() {
    auto [a, b] = tcp_socket_pair();
    const Key key = make_data_key(Token::random(), {.session = random_session_id(), .link = LinkKind::tcp, .index = 0});
    auto shaking = std::async(std::launch::async, [&, socket = std::make_shared<FileDescriptor>(std::move(a))] {
      return std::make_unique<TalkativePeer>(std::move(*socket), GetParam(), key);
    });
    const TlsRole role = GetParam() == TlsRole::dialler ? TlsRole::listener : TlsRole::dialler;
    wire_ = std::make_unique<TlsWire>(std::move(b), role, key, monotonic_ns() + timeout_ns);
    peer_ = shaking.get();
  }

  static constexpr int too_many = 1000;

  std::unique_ptr<TalkativePeer> peer_;
  std::unique_ptr<TlsWire> wire_;
};

TEST_P(MessagesOfTls, SomeNewKeysBeforeEachByteAreTaken) {
  for (const std::string_view text : {"a", "b", "c"}) {
    peer_->renew_keys(20);
    peer_->say(text);
    std::array<std::byte, 1> some{};
    ASSERT_EQ(read_all(*wire_, some), WireStatus::moved);
    EXPECT_EQ(some[0], static_cast<std::byte>(text[0]));
  }
}

/// Each costs the reader far more than the peer.
TEST_P(MessagesOfTls, WithoutDataEndTheConnection) {
  peer_->talk(too_many);
  std::array<std::byte, 8> some{};
  EXPECT_EQ(read_all(*wire_, some), WireStatus::failed);
  EXPECT_EQ(wire_->read(some, {}).status, WireStatus::failed) << "and it stays so";
}

/// Under the stream's mutex, where all viewers wait.
TEST_P(MessagesOfTls, DoNotKeepASenderFromItsOtherViewers) {
  peer_->talk(too_many);
  TcpSender sender(std::move(wire_), timeout_ns);
  std::array<PoolSlot, 1> released;
  EXPECT_TRUE(eventually([&] { return sender.poll_released(released) == 0 && sender.state() == LinkState::lost; }));
}

TEST_P(MessagesOfTls, DoNotKeepAViewerFromItsEnd) {
  peer_->talk(too_many);
  TcpReceiver receiver(std::move(wire_), timeout_ns);
  EXPECT_TRUE(eventually([&] { return !receiver.drive() && receiver.state() == LinkState::lost; }));
}

INSTANTIATE_TEST_SUITE_P(Roles, MessagesOfTls, testing::Values(TlsRole::dialler, TlsRole::listener),
                         [](const auto& role) { return role.param == TlsRole::dialler ? "dialler" : "listener"; });

/// The two sides of one connection, each with the token and the connection that it expects.
class TlsWireHandshake : public testing::Test {
 protected:
  struct Told {
    Token token;
    DataConnectionId connection;
  };
  static std::optional<Error> shake(FileDescriptor socket, ProofRole role, const Told& told, std::int64_t deadline_ns,
                                    int cancel_fd = -1) {
    try {
      const TlsRole tls_role = role == ProofRole::dialler ? TlsRole::dialler : TlsRole::listener;
      const TlsWire wire(std::move(socket), tls_role, make_data_key(told.token, told.connection), deadline_ns,
                         cancel_fd);
      return std::nullopt;
    } catch (const Error& error) {
      return error;
    }
  }
  const Told told_{Token::random(), {.session = random_session_id(), .link = LinkKind::tcp, .index = 0}};
};

TEST_F(TlsWireHandshake, WithAnotherTokenOrSessionThereIsNone) {
  Told other_token = told_;
  other_token.token = Token::random();
  Told other_session = told_;
  other_session.connection.session = random_session_id();
  for (const Told& other : {other_token, other_session}) {
    auto [a, b] = tcp_socket_pair();
    const std::int64_t deadline_ns = monotonic_ns() + timeout_ns;
    auto dialling = std::async(std::launch::async, [&, socket = std::make_shared<FileDescriptor>(std::move(a))] {
      return shake(std::move(*socket), ProofRole::dialler, told_, deadline_ns);
    });
    const auto listening = shake(std::move(b), ProofRole::listener, other, deadline_ns);
    const auto dialled = dialling.get();
    ASSERT_TRUE(dialled && listening);
    EXPECT_EQ(listening->status(), ExitStatus::lost_peer) << listening->what();
    EXPECT_NE(std::string(listening->what()).find("data connection"), std::string::npos) << listening->what();
  }
}

TEST_F(TlsWireHandshake, APeerThatSaysNothingIsNotWaitedForForEver) {
  auto [a, b] = tcp_socket_pair();
  const auto error = shake(std::move(b), ProofRole::listener, told_, monotonic_ns() + ns_per_s / 20);
  ASSERT_TRUE(error);
  EXPECT_NE(std::string(error->what()).find("in time"), std::string::npos) << error->what();
}

TEST_F(TlsWireHandshake, TheEndOfItsSessionEndsIt) {
  auto [a, b] = tcp_socket_pair();
  auto [mine, theirs] = unix_socket_pair();
  theirs.reset();
  const auto error = shake(std::move(b), ProofRole::listener, told_, monotonic_ns() + 3600 * ns_per_s, mine.get());
  ASSERT_TRUE(error);
  EXPECT_NE(std::string(error->what()).find("session ended"), std::string::npos) << error->what();
}

}  // namespace
}  // namespace framewire::test
