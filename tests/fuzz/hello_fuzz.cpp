// The first bytes of connections: preambles, tokens, the proofs of data connections, and the frames of the control
// channel's messages.
//
// Input: one byte that selects a part, then the bytes of the peer.
#include <unistd.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/clock.hpp"
#include "tests/fuzz/fuzz.hpp"
#include "tests/fuzz/socket_ends.hpp"
#include "transport/byte_stream.hpp"
#include "transport/control/authenticate.hpp"
#include "transport/control/data_hello.hpp"
#include "transport/control/message_channel.hpp"
#include "transport/control/preamble.hpp"
#include "transport/control/token.hpp"

namespace framewire::fuzz {
namespace {

using Bytes = std::span<const std::byte>;

std::int64_t soon_ns() {
  return monotonic_ns() + 30 * ns_per_s;
}

void check_preamble(Bytes bytes) {
  std::optional<ConnectionKind> known;
  for (std::size_t count = 0; count <= std::min<std::size_t>(bytes.size(), 16); ++count) {
    const auto kind = identify_bytes(bytes.first(count));
    require(!known || kind == known, "more bytes do not change what a connection is");
    known = kind;
  }
  if (bytes.size() >= preamble_bytes) {
    require(known.has_value(), "eight bytes say what a connection is");
    for (const std::string_view expected : {control_preamble, reply_preamble, data_preamble}) {
      const auto version = preamble_version(bytes.first<preamble_bytes>(), expected);
      require(!version || (*version >= 0 && *version <= 99), "a version has two digits");
    }
  }
  const Ends ends = after_sending(bytes);
  const ConnectionKind kind = identify(ends.ours.get(), soon_ns());
  require(!known || kind == *known, "a socket's bytes say the same");
}

Token some_token() {
  return Token::from_hex(std::string(64, '7'));
}

void check_data_hello(Bytes bytes) {
  if (bytes.size() >= data_hello_bytes) {
    if (const auto hello = decode_data_hello(bytes.first<data_hello_bytes>())) {
      const auto again = decode_data_hello(encode_data_hello(*hello));
      require(again && again->connection == hello->connection && again->proof == hello->proof,
              "a hello comes back as it went");
      require(!check_proof(some_token(), hello->connection, ProofRole::dialler, hello->proof) ||
                  hello->proof == make_proof(some_token(), hello->connection, ProofRole::dialler),
              "only the right proof is accepted");
    }
  }
  for (const LinkKind link : {LinkKind::rdma, LinkKind::tcp}) {
    if (const auto hello = decode_connect_hello(bytes, link)) {
      const ConnectHello once = encode_connect_hello(*hello);
      const auto again = decode_connect_hello(once, link);
      require(again && again->connection == hello->connection && again->proof == hello->proof,
              "a hello comes back as it went");
    }
  }
  IssuedTokens tokens;
  const DataConnectionId ours{};
  const Token token = tokens.issue(ours, 0);
  succeeds([&] {
    const Ends ends = after_sending(bytes);
    require(!tokens.redeem(read_data_hello(ends.ours.get(), soon_ns()), 0),
            "a token that nobody was told redeems nothing");
  });
  require(tokens.size() == 1, "a wrong proof leaves the token");
  const bool is_accepted = succeeds([&] {
    const Ends ends = after_sending(bytes);
    read_data_answer(ends.ours.get(), token, ours, soon_ns());
  });
  require(!is_accepted, "nobody answers for the listener without the token");
}

void check_hex(std::string_view text) {
  succeeds([&] {
    const Token token = Token::from_hex(text);
    require(Token::from_hex(token.hex()).hex() == token.hex(), "a token comes back as it went");
  });
  succeeds([&] { require(to_hex(session_id_from_hex(text)).size() == 32, "a session's id has 32 digits"); });
}

void check_channel(Bytes bytes) {
  const Ends ends = after_sending(bytes);
  MessageChannel channel(std::make_unique<FdStream>(FileDescriptor(::dup(ends.ours.get()))), "the peer",
                         message_limit_before_bytes);
  std::size_t messages = 0;
  while (succeeds([&] {
    const nlohmann::json message = channel.receive(soon_ns());
    require(message.is_object() && message.contains("type") && message["type"].is_string(), "a message has a type");
  })) {
    ++messages;
  }
  require(messages <= bytes.size() / 4, "every message has a length of its own");
  const Ends again = after_sending(bytes);
  MessageChannel polled(std::make_unique<FdStream>(FileDescriptor(::dup(again.ours.get()))), "the peer",
                        message_limit_before_bytes);
  std::size_t polled_messages = 0;
  while (succeeds([&] { require(polled.try_receive().has_value(), "the end is no missing message"); })) {
    ++polled_messages;
  }
  require(messages == polled_messages, "try_receive() finds the same messages");
}

/// Both roles of a plain control channel.
void check_control(Bytes bytes, bool is_insecure) {
  const AuthenticateOptions options{.key = {}, .insecure = is_insecure, .timeout_ns = 30 * ns_per_s};
  succeeds([&] {
    Ends ends = after_sending(bytes);
    authenticate_listener({.fd = std::move(ends.ours), .is_unix = true, .address = "this machine"}, options);
  });
  succeeds([&] {
    Ends ends = after_sending(bytes);
    authenticate_listener({.fd = std::move(ends.ours), .address = "192.0.2.1:1"}, options);
  });
  succeeds([&] {
    Ends ends = after_sending(bytes);
    authenticate_dialler({.fd = std::move(ends.ours), .is_unix = true, .address = "this machine"}, options);
  });
  succeeds([&] {
    Ends ends = after_sending(bytes);
    authenticate_dialler({.fd = std::move(ends.ours), .address = "192.0.2.1:1"}, options);
  });
}

std::string framed(const std::string& text) {
  return bytes_of(static_cast<std::uint32_t>(text.size())) + text;
}

}  // namespace

std::vector<std::string> seeds() {
  const DataHello hello{.connection = {SessionId{}, LinkKind::tcp, 0},
                        .proof = make_proof(some_token(), {SessionId{}, LinkKind::tcp, 0}, ProofRole::dialler)};
  const std::string data = text_of(encode_data_hello(hello));
  const std::string connect =
      text_of(encode_connect_hello({.connection = {SessionId{}, LinkKind::rdma, 0}, .proof = hello.proof}));
  const std::string message = framed(R"({"type":"hello","role":"viewer"})");
  const std::string control(control_greeting);
  const std::string reply(reply_preamble);
  return {std::string(1, '\0') + data,
          std::string(1, '\0') + control,
          std::string(1, '\0') + "\x16\x03\x01\x02",
          "\1" + data,
          "\1" + connect,
          "\2" + std::string(64, '7'),
          "\2" + std::string(32, 'a'),
          "\3" + message + framed(R"({"type":"bye"})"),
          "\4" + control + message,
          "\5" + reply + message,
          "\5" + control};
}

}  // namespace framewire::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace framewire;
  fuzz::Input input(data, size);
  const unsigned part = input.take<std::uint8_t>();
  const auto bytes = input.take_all();
  switch (part) {
    case 0:
      fuzz::check_preamble(bytes);
      break;
    case 1:
      fuzz::check_data_hello(bytes);
      break;
    case 2:
      fuzz::check_hex({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
      break;
    case 3:
      fuzz::check_channel(bytes);
      break;
    default:
      fuzz::check_control(bytes, part % 2 == 0);
  }
  return 0;
}
