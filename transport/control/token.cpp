#include "transport/control/token.hpp"

#include <algorithm>
#include <vector>

#include "base/error.hpp"
#include "transport/control/preamble.hpp"

namespace framewire {

namespace {

// Separates the two uses of a token: neither text is a prefix of the other.
constexpr std::string_view proof_context = "framewire data 1";
constexpr std::string_view key_context = "framewire data key 1";

/// Numbers and names of links on the wire; they do not follow the order of the enumeration.
struct WireLink {
  LinkKind kind;
  std::uint8_t number;
  std::string_view name;
};
constexpr std::array<WireLink, 3> wire_links{
    {{LinkKind::local, 1, "local"}, {LinkKind::tcp, 2, "tcp"}, {LinkKind::rdma, 3, "rdma"}}};

const WireLink& wire_link(LinkKind kind) noexcept {
  return *std::ranges::find(wire_links, kind, &WireLink::kind);
}

void append(std::vector<std::byte>& text, std::span<const std::byte> bytes) {
  text.insert(text.end(), bytes.begin(), bytes.end());
}

void append_connection(std::vector<std::byte>& text, const DataConnectionId& connection) {
  append(text, connection.session);
  text.push_back(static_cast<std::byte>(connection.index));
  append(text, std::as_bytes(std::span(wire_link(connection.link).name)));
}

}  // namespace

Token Token::random() {
  Token token;
  fill_random(token.bytes_);
  return token;
}

Token Token::from_hex(std::string_view hex) {
  Token token;
  if (!read_hex(hex, token.bytes_)) {
    throw Error::failed("the peer sent a token that is not 64 hexadecimal digits");
  }
  return token;
}

Token::~Token() {
  wipe(bytes_);
}

std::string Token::hex() const {
  return to_hex(bytes_);
}

SessionId random_session_id() {
  SessionId id{};
  fill_random(id);
  return id;
}

SessionId session_id_from_hex(std::string_view hex) {
  SessionId id{};
  if (!read_hex(hex, id)) {
    throw Error::failed("the peer sent a session id that is not 32 hexadecimal digits");
  }
  return id;
}

Proof make_proof(const Token& token, const DataConnectionId& connection, ProofRole role) {
  std::vector<std::byte> text;
  append(text, std::as_bytes(std::span(proof_context)));
  text.push_back(static_cast<std::byte>(role));
  append_connection(text, connection);
  return hmac_sha256(token.bytes(), text);
}

Key make_data_key(const Token& token, const DataConnectionId& connection) {
  std::vector<std::byte> text;
  append(text, std::as_bytes(std::span(key_context)));
  append_connection(text, connection);
  Mac mac = hmac_sha256(token.bytes(), text);
  const Key key(mac);
  wipe(mac);
  return key;
}

bool check_proof(const Token& token, const DataConnectionId& connection, ProofRole role, const Proof& proof) {
  const Proof expected = make_proof(token, connection, role);
  return are_equal(expected, proof);
}

std::array<std::byte, data_hello_bytes> encode_data_hello(const DataHello& hello) noexcept {
  std::array<std::byte, data_hello_bytes> bytes{};
  auto to = std::ranges::copy(std::as_bytes(std::span(data_preamble)), bytes.begin()).out;
  to = std::ranges::copy(hello.connection.session, to).out;
  *to++ = static_cast<std::byte>(wire_link(hello.connection.link).number);
  *to++ = static_cast<std::byte>(hello.connection.index);
  to += 2;  // reserved
  std::ranges::copy(hello.proof, to);
  return bytes;
}

std::optional<DataHello> decode_data_hello(std::span<const std::byte, data_hello_bytes> bytes) noexcept {
  constexpr std::size_t link_at = preamble_bytes + sizeof(SessionId);
  if (!std::ranges::equal(bytes.first<preamble_bytes>(), std::as_bytes(std::span(data_preamble)))) {
    return std::nullopt;
  }
  const auto link = std::ranges::find(wire_links, std::to_integer<std::uint8_t>(bytes[link_at]), &WireLink::number);
  const bool reserved_is_zero = bytes[link_at + 2] == std::byte{0} && bytes[link_at + 3] == std::byte{0};
  if (link == wire_links.end() || !reserved_is_zero) {
    return std::nullopt;
  }
  DataHello hello;
  hello.connection.link = link->kind;
  hello.connection.index = std::to_integer<std::uint8_t>(bytes[link_at + 1]);
  std::ranges::copy(bytes.subspan<preamble_bytes, sizeof(SessionId)>(), hello.connection.session.begin());
  std::ranges::copy(bytes.last<sizeof(Proof)>(), hello.proof.begin());
  return hello;
}

Token IssuedTokens::issue(const DataConnectionId& connection, std::int64_t now_ns) {
  const std::lock_guard lock(mutex_);
  drop_expired(now_ns);
  if (pending_.size() >= limit_) {
    throw Error::refused("too many data connections are waited for at once; try again in a few seconds");
  }
  const Token token = Token::random();
  pending_.insert_or_assign(Name{connection.session, connection.index},
                            Pending{.token = token, .link = connection.link, .expires_ns = now_ns + lifetime_ns_});
  return token;
}

std::optional<Token> IssuedTokens::redeem(const DataHello& hello, std::int64_t now_ns) {
  const std::lock_guard lock(mutex_);
  drop_expired(now_ns);
  const auto found = pending_.find(Name{hello.connection.session, hello.connection.index});
  if (found == pending_.end() || found->second.link != hello.connection.link ||
      !check_proof(found->second.token, hello.connection, ProofRole::dialler, hello.proof)) {
    return std::nullopt;
  }
  const Token token = found->second.token;
  pending_.erase(found);
  return token;
}

void IssuedTokens::forget(const SessionId& session) noexcept {
  const std::lock_guard lock(mutex_);
  std::erase_if(pending_, [&](const auto& one) { return one.first.first == session; });
}

std::size_t IssuedTokens::size() const noexcept {
  const std::lock_guard lock(mutex_);
  return pending_.size();
}

void IssuedTokens::drop_expired(std::int64_t now_ns) {
  std::erase_if(pending_, [&](const auto& one) { return one.second.expires_ns <= now_ns; });
}

}  // namespace framewire
