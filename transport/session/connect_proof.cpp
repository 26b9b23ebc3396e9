#include "transport/session/connect_proof.hpp"

#include <algorithm>
#include <string_view>

#include "base/error.hpp"

namespace framewire {

namespace {

constexpr std::string_view magic = "FWR1";
constexpr std::size_t index_at = magic.size();
constexpr std::size_t session_at = 8;
constexpr std::size_t proof_at = session_at + sizeof(SessionId);
static_assert(proof_at + sizeof(Proof) == sizeof(ConnectHello));

}  // namespace

ConnectProof make_connect_proof(const Token& token, const DataConnectionId& connection) {
  return {.hello = encode_connect_hello(
              {.connection = connection, .proof = make_proof(token, connection, ProofRole::dialler)}),
          .check_answer = [token, connection](std::span<const std::byte> bytes) {
            const auto answer = decode_connect_hello(bytes, connection.link);
            if (!answer || answer->connection != connection ||
                !check_proof(token, connection, ProofRole::listener, answer->proof)) {
              throw Error::refused("the other end of the " + std::string(name(connection.link)) +
                                   " connection is not the peer of this session");
            }
          }};
}

ConnectHello encode_connect_hello(const DataHello& hello) noexcept {
  ConnectHello bytes{};
  std::ranges::copy(std::as_bytes(std::span(magic)), bytes.begin());
  bytes[index_at] = static_cast<std::byte>(hello.connection.index);
  std::ranges::copy(hello.connection.session, bytes.begin() + session_at);
  std::ranges::copy(hello.proof, bytes.begin() + proof_at);
  return bytes;
}

std::optional<DataHello> decode_connect_hello(std::span<const std::byte> bytes, LinkKind link) noexcept {
  if (bytes.size() < sizeof(ConnectHello) ||
      !std::ranges::equal(bytes.first(magic.size()), std::as_bytes(std::span(magic)))) {
    return std::nullopt;
  }
  const auto reserved = bytes.subspan(index_at + 1, session_at - index_at - 1);
  if (std::ranges::any_of(reserved, [](std::byte byte) { return byte != std::byte{0}; })) {
    return std::nullopt;
  }
  DataHello hello;
  hello.connection.link = link;
  hello.connection.index = std::to_integer<std::uint8_t>(bytes[index_at]);
  std::ranges::copy(bytes.subspan(session_at, sizeof(SessionId)), hello.connection.session.begin());
  std::ranges::copy(bytes.subspan(proof_at, sizeof(Proof)), hello.proof.begin());
  return hello;
}

}  // namespace framewire
