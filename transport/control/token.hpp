// Binds a data connection to its session: the control channel carries a one-use token, and the dialler proves that it
// knows the token. docs/wire.md, "Data connections", has the bytes and the formula.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "transport/control/hex.hpp"
#include "transport/control/key_file.hpp"
#include "transport/link.hpp"

namespace framewire {

struct DataHello;  // data_hello.hpp

using SessionId = std::array<std::byte, 16>;
using Proof = std::array<std::byte, 32>;

/// A value; the destructor wipes it from memory.
class Token {
 public:
  static constexpr std::size_t size_bytes = 32;

  /// From the system's random numbers. Throws Error.
  static Token random();
  /// 64 hexadecimal digits, as in a message of the peer. Throws Error (failed).
  static Token from_hex(std::string_view hex);

  Token(const Token&) noexcept = default;
  Token& operator=(const Token&) noexcept = default;
  ~Token();

  [[nodiscard]] std::string hex() const;
  [[nodiscard]] std::span<const std::byte, size_bytes> bytes() const noexcept { return bytes_; }

 private:
  Token() noexcept = default;
  std::array<std::byte, size_bytes> bytes_{};
};

/// Random session ids, and their text form in messages (32 hexadecimal digits). Both throw Error.
SessionId random_session_id();
SessionId session_id_from_hex(std::string_view hex);

/// An id for InputBatch::viewer, at random: 16 hexadecimal digits. Throws Error.
std::string random_viewer_id();

/// Identifies a data connection of a session. `index` counts the connections of one link, from 0.
struct DataConnectionId {
  SessionId session{};
  LinkKind link{};
  std::uint8_t index = 0;
  bool operator==(const DataConnectionId&) const = default;
};

enum class ProofRole : char { dialler = 'd', listener = 'l' };

Proof make_proof(const Token& token, const DataConnectionId& connection, ProofRole role);
/// In constant time.
bool check_proof(const Token& token, const DataConnectionId& connection, ProofRole role, const Proof& proof);

/// The key of one encrypted data connection; no other connection has it, because a token is used once. Throws Error.
Key make_data_key(const Token& token, const DataConnectionId& connection);

/// The tokens that a listener has issued and nobody has used yet. Any thread.
class IssuedTokens {
 public:
  explicit IssuedTokens(std::size_t limit = 100, std::int64_t lifetime_ns = 10'000'000'000)
      : limit_(limit), lifetime_ns_(lifetime_ns) {}

  /// Issues a token for one connection. Throws Error (refused) when `limit` tokens are unused.
  Token issue(const DataConnectionId& connection, std::int64_t now_ns);

  /// Returns the token of a hello with a correct proof, once, for send_data_answer(). Nothing when the token is
  /// unknown, expired or used, or the proof is wrong. A wrong proof leaves the token valid, so that an attacker cannot
  /// use it up.
  std::optional<Token> redeem(const DataHello& hello, std::int64_t now_ns);

  /// Drops the unused tokens of a session that has ended.
  void forget(const SessionId& session) noexcept;

  [[nodiscard]] std::size_t size() const noexcept;

 private:
  struct Pending {
    Token token;
    LinkKind link;
    std::int64_t expires_ns;
  };
  using Name = std::pair<SessionId, std::uint8_t>;  // session and index

  void drop_expired(std::int64_t now_ns);

  std::size_t limit_;
  std::int64_t lifetime_ns_;
  mutable std::mutex mutex_;
  std::map<Name, Pending> pending_;
};

}  // namespace framewire
