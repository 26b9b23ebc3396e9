#include "transport/control/token.hpp"

#include <algorithm>
#include <vector>

#include "base/error.hpp"
#include "transport/control/data_hello.hpp"

namespace framewire {

namespace {

// Separates the two uses of a token: neither text is a prefix of the other.
constexpr std::string_view proof_context = "framewire data 1";
constexpr std::string_view key_context = "framewire data key 1";

void append(std::vector<std::byte>& text, std::span<const std::byte> bytes) {
  text.insert(text.end(), bytes.begin(), bytes.end());
}

void append_connection(std::vector<std::byte>& text, const DataConnectionId& connection) {
  append(text, connection.session);
  text.push_back(static_cast<std::byte>(connection.index));
  append(text, std::as_bytes(std::span(name(connection.link))));
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

std::string random_viewer_id() {
  constexpr std::size_t digits = 16;
  return to_hex(random_session_id()).substr(0, digits);
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

Token IssuedTokens::issue(const DataConnectionId& connection, std::int64_t now_ns) {
  const std::lock_guard lock(mutex_);
  drop_expired(now_ns);
  if (pending_.size() >= limit_) {
    throw Error::refused("too many data connections are pending; try again in a few seconds");
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
