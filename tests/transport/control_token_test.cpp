#include "transport/control/data_hello.hpp"
#include "transport/control/token.hpp"

#include <atomic>
#include <set>
#include <thread>
#include <tuple>
#include <vector>

#include "tests/transport/control_support.hpp"
#include "transport/control/preamble.hpp"

namespace framewire {
namespace {

using test::error_of;
using test::expect_error;
using test::send_text;
using test::socket_pair;
using test::soon_ns;

DataConnectionId some_connection(std::uint8_t index = 0) {
  return {.session = random_session_id(), .link = LinkKind::tcp, .index = index};
}

DataHello hello_for(const Token& token, const DataConnectionId& connection) {
  return {.connection = connection, .proof = make_proof(token, connection, ProofRole::dialler)};
}

TEST(Token, IsRandomAndTravelsAsHex) {
  std::set<std::string> seen;
  for (int i = 0; i < 100; ++i) {
    EXPECT_TRUE(seen.insert(Token::random().hex()).second);
  }
  const std::string hex = Token::random().hex();
  EXPECT_EQ(hex.size(), 64U);
  EXPECT_EQ(Token::from_hex(hex).hex(), hex);
  expect_error(error_of([&] { Token::from_hex(hex.substr(1)); }), ExitStatus::failed, "64 hexadecimal digits");
  expect_error(error_of([] { session_id_from_hex("xyz"); }), ExitStatus::failed, "32 hexadecimal digits");
  const SessionId id = random_session_id();
  EXPECT_EQ(session_id_from_hex(to_hex(id)), id);
}

TEST(Token, ProofIsTheDocumentedHmac) {
  // By Python: hmac.new(bytes(range(32)), b"framewire data 1" + b"d" + bytes(16) + b"\x03" + b"tcp",
  // "sha256").hexdigest()
  std::array<std::byte, 32> bytes{};
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    bytes[i] = static_cast<std::byte>(i);
  }
  const DataConnectionId connection{.session = {}, .link = LinkKind::tcp, .index = 3};
  EXPECT_EQ(to_hex(make_proof(Token::from_hex(to_hex(bytes)), connection, ProofRole::dialler)),
            "035ca31654cdde7964fb85043c3046f06a2ec953474220cbf3fb56e4a7a27596");
}

TEST(Token, TheDataKeyIsTheDocumentedHmac) {
  // By Python: hmac.new(bytes(range(32)), b"framewire data key 1" + bytes(16) + b"\x03" + b"tcp", "sha256").hexdigest()
  std::array<std::byte, 32> bytes{};
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    bytes[i] = static_cast<std::byte>(i);
  }
  const DataConnectionId connection{.session = {}, .link = LinkKind::tcp, .index = 3};
  EXPECT_EQ(to_hex(make_data_key(Token::from_hex(to_hex(bytes)), connection).bytes()),
            "4301cc2625c33d8c2f1824b2b08d46a11740a25dfe4c244abbc1392b14a62264");
}

TEST(Token, EveryDataConnectionHasAKeyOfItsOwn) {
  const Token token = Token::random();
  const DataConnectionId connection = some_connection();
  const Key key = make_data_key(token, connection);
  EXPECT_EQ(key, make_data_key(token, connection));
  EXPECT_FALSE(key == make_data_key(Token::random(), connection));
  EXPECT_FALSE(key == make_data_key(token, some_connection()));
  EXPECT_FALSE(key == make_data_key(token, {.session = connection.session, .link = LinkKind::tcp, .index = 1}));
  for (const ProofRole role : {ProofRole::dialler, ProofRole::listener}) {  // proofs are sent unencrypted
    EXPECT_FALSE(std::ranges::equal(key.bytes(), make_proof(token, connection, role)));
  }
}

TEST(Token, ProofCoversEverything) {
  const Token token = Token::random();
  const DataConnectionId connection = some_connection();
  const Proof proof = make_proof(token, connection, ProofRole::dialler);
  EXPECT_TRUE(check_proof(token, connection, ProofRole::dialler, proof));
  EXPECT_FALSE(check_proof(token, connection, ProofRole::listener, proof));
  EXPECT_FALSE(check_proof(Token::random(), connection, ProofRole::dialler, proof));
  DataConnectionId other = connection;
  other.link = LinkKind::rdma;
  EXPECT_FALSE(check_proof(token, other, ProofRole::dialler, proof));
  other = connection;
  other.index = 1;
  EXPECT_FALSE(check_proof(token, other, ProofRole::dialler, proof));
  other = connection;
  other.session[15] ^= std::byte{1};
  EXPECT_FALSE(check_proof(token, other, ProofRole::dialler, proof));
  for (std::size_t at = 0; at < proof.size(); ++at) {
    Proof flipped = proof;
    flipped[at] ^= std::byte{0x80};
    EXPECT_FALSE(check_proof(token, connection, ProofRole::dialler, flipped));
  }
}

TEST(DataHello, SurvivesTheWire) {
  for (const LinkKind link : {LinkKind::local, LinkKind::tcp, LinkKind::rdma}) {
    DataConnectionId connection = some_connection(255);
    connection.link = link;
    const DataHello hello = hello_for(Token::random(), connection);
    const auto back = decode_data_hello(encode_data_hello(hello));
    ASSERT_TRUE(back.has_value());
    EXPECT_EQ(back->connection, hello.connection);
    EXPECT_EQ(back->proof, hello.proof);
  }
}

TEST(DataHello, EveryFlippedBitIsRefused) {
  IssuedTokens tokens;
  const DataConnectionId connection = some_connection();
  const Token token = tokens.issue(connection, 0);
  const auto good = encode_data_hello(hello_for(token, connection));
  for (std::size_t bit = 0; bit < good.size() * 8; ++bit) {
    auto bad = good;
    bad[bit / 8] ^= static_cast<std::byte>(1U << bit % 8);
    const auto hello = decode_data_hello(bad);
    EXPECT_FALSE(hello && tokens.redeem(*hello, 0)) << bit;
  }
  EXPECT_TRUE(tokens.redeem(*decode_data_hello(good), 0)) << "wrong tries must not use the token up";
}

TEST(IssuedTokens, AreGoodForOneUse) {
  IssuedTokens tokens;
  const DataConnectionId connection = some_connection();
  const Token token = tokens.issue(connection, 0);
  const auto redeemed = tokens.redeem(hello_for(token, connection), 1);
  ASSERT_TRUE(redeemed.has_value());
  EXPECT_EQ(redeemed->hex(), token.hex());
  EXPECT_FALSE(tokens.redeem(hello_for(token, connection), 2)) << "replayed";
  EXPECT_EQ(tokens.size(), 0U);
}

TEST(IssuedTokens, RefuseUnknownSessionsAndOtherTokens) {
  IssuedTokens tokens;
  const DataConnectionId connection = some_connection();
  const Token token = tokens.issue(connection, 0);
  EXPECT_FALSE(tokens.redeem(hello_for(token, some_connection()), 0));
  EXPECT_FALSE(tokens.redeem(hello_for(Token::random(), connection), 0));
  DataConnectionId as_local = connection;
  as_local.link = LinkKind::local;
  EXPECT_FALSE(tokens.redeem(hello_for(token, as_local), 0)) << "issued for tcp";
  EXPECT_EQ(tokens.size(), 1U);
}

TEST(IssuedTokens, ServeSeveralConnectionsOfOneSession) {
  IssuedTokens tokens;
  DataConnectionId first = some_connection(0);
  DataConnectionId second = first;
  second.index = 1;
  const Token first_token = tokens.issue(first, 0);
  const Token second_token = tokens.issue(second, 0);
  EXPECT_FALSE(tokens.redeem(hello_for(first_token, second), 0));
  EXPECT_TRUE(tokens.redeem(hello_for(second_token, second), 0));
  EXPECT_TRUE(tokens.redeem(hello_for(first_token, first), 0));
}

TEST(IssuedTokens, Expire) {
  IssuedTokens tokens(100, 10);
  const DataConnectionId connection = some_connection();
  const Token token = tokens.issue(connection, 5);
  EXPECT_FALSE(tokens.redeem(hello_for(token, connection), 15));
  EXPECT_EQ(tokens.size(), 0U);
}

TEST(IssuedTokens, AreBoundedAndForgotten) {
  IssuedTokens tokens(3, 10);
  const DataConnectionId kept = some_connection();
  tokens.issue(kept, 0);
  tokens.issue(some_connection(), 0);
  tokens.issue(some_connection(), 0);
  expect_error(error_of([&] { tokens.issue(some_connection(), 0); }), ExitStatus::refused, "too many data connections");
  tokens.forget(kept.session);
  EXPECT_EQ(tokens.size(), 2U);
  tokens.issue(some_connection(), 0);
  EXPECT_FALSE(error_of([&] { tokens.issue(some_connection(), 10); })) << "expired ones make room";
}

TEST(IssuedTokens, GiveEachTokenToOneOfManyThreads) {
  IssuedTokens tokens;
  const DataConnectionId connection = some_connection();
  const DataHello hello = hello_for(tokens.issue(connection, 0), connection);
  std::atomic<int> winners{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&] { winners += tokens.redeem(hello, 0) ? 1 : 0; });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  EXPECT_EQ(winners, 1);
}

TEST(DataConnectionId, IsConfirmedOnBothEnds) {
  FileDescriptor dialler;
  FileDescriptor listener;
  std::tie(dialler, listener) = socket_pair();
  IssuedTokens tokens;
  const DataConnectionId connection = some_connection();
  const Token token = tokens.issue(connection, 0);
  send_data_hello(dialler.get(), token, connection, soon_ns());
  send_text(dialler.get(), "frames");
  EXPECT_EQ(identify(listener.get(), soon_ns()), ConnectionKind::data);
  const DataHello hello = read_data_hello(listener.get(), soon_ns());
  EXPECT_EQ(hello.connection, connection);
  const auto redeemed = tokens.redeem(hello, 0);
  ASSERT_TRUE(redeemed.has_value());
  send_data_answer(listener.get(), *redeemed, connection, soon_ns());
  read_data_answer(dialler.get(), token, connection, soon_ns());
  char text[8] = {};
  EXPECT_EQ(::recv(listener.get(), text, sizeof text, 0), 6) << "what follows the hello belongs to the link";
}

TEST(DataConnectionId, DiallerRefusesAWrongAnswer) {
  const Token token = Token::random();
  const DataConnectionId connection = some_connection();
  {
    FileDescriptor dialler;
    FileDescriptor listener;
    std::tie(dialler, listener) = socket_pair();
    send_data_answer(listener.get(), Token::random(), connection, soon_ns());
    expect_error(error_of([&] { read_data_answer(dialler.get(), token, connection, soon_ns()); }), ExitStatus::refused,
                 "is not the peer");
  }
  {
    // The dialler must not accept an echo of its own proof as the listener's proof.
    FileDescriptor dialler;
    FileDescriptor listener;
    std::tie(dialler, listener) = socket_pair();
    const Proof own = make_proof(token, connection, ProofRole::dialler);
    send_text(listener.get(), data_preamble);
    send_text(listener.get(), {reinterpret_cast<const char*>(own.data()), own.size()});
    expect_error(error_of([&] { read_data_answer(dialler.get(), token, connection, soon_ns()); }), ExitStatus::refused,
                 "is not the peer");
  }
}

TEST(DataConnectionId, CutHellosAndSlowOnesEndWithAnError) {
  const Token token = Token::random();
  const DataConnectionId connection = some_connection();
  const auto whole = encode_data_hello(hello_for(token, connection));
  for (std::size_t cut = 0; cut < whole.size(); ++cut) {
    FileDescriptor dialler;
    FileDescriptor listener;
    std::tie(dialler, listener) = socket_pair();
    send_text(dialler.get(), {reinterpret_cast<const char*>(whole.data()), cut});
    expect_error(error_of([&] { read_data_hello(listener.get(), monotonic_ns()); }), ExitStatus::lost_peer,
                 "not confirmed in time");
    dialler.reset();
    expect_error(error_of([&] { read_data_hello(listener.get(), soon_ns()); }), ExitStatus::lost_peer,
                 "closed the data connection");
  }
}

TEST(DataConnectionId, GarbageIsRefused) {
  FileDescriptor dialler;
  FileDescriptor listener;
  std::tie(dialler, listener) = socket_pair();
  send_text(dialler.get(), std::string(data_hello_bytes, 'x'));
  expect_error(error_of([&] { read_data_hello(listener.get(), soon_ns()); }), ExitStatus::refused,
               "did not begin as one");
}

}  // namespace
}  // namespace framewire
