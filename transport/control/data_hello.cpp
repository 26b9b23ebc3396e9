#include "transport/control/data_hello.hpp"

#include <fmt/core.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <string_view>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/wait.hpp"
#include "transport/control/preamble.hpp"

namespace framewire {

namespace {

constexpr std::string_view not_confirmed = "the data connection was not confirmed in time";

void write_exactly(int fd, std::span<const std::byte> from, std::int64_t deadline_ns) {
  while (!from.empty()) {
    const ssize_t sent = ::send(fd, from.data(), from.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent >= 0) {
      from = from.subspan(static_cast<std::size_t>(sent));
    } else if (!is_passing(errno)) {
      throw Error::lost_peer("the data connection broke: " + errno_text(errno));
    } else {
      wait_or_throw(fd, POLLOUT, deadline_ns, not_confirmed);
    }
  }
}

/// Reads exactly that many bytes: the following ones belong to the link.
void read_exactly(int fd, std::span<std::byte> into, std::int64_t deadline_ns) {
  while (!into.empty()) {
    const ssize_t got = ::recv(fd, into.data(), into.size(), MSG_DONTWAIT);
    if (got > 0) {
      into = into.subspan(static_cast<std::size_t>(got));
    } else if (got == 0) {
      throw Error::lost_peer("the peer closed the data connection before it was confirmed");
    } else if (!is_passing(errno)) {
      throw Error::lost_peer("the data connection broke: " + errno_text(errno));
    } else {
      wait_or_throw(fd, POLLIN, deadline_ns, not_confirmed);
    }
  }
}

}  // namespace

std::array<std::byte, data_hello_bytes> encode_data_hello(const DataHello& hello) noexcept {
  std::array<std::byte, data_hello_bytes> bytes{};
  auto to = std::ranges::copy(std::as_bytes(std::span(data_preamble)), bytes.begin()).out;
  to = std::ranges::copy(hello.connection.session, to).out;
  *to++ = static_cast<std::byte>(hello.connection.link);
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
  const auto link = link_kind_from_number(std::to_integer<std::uint8_t>(bytes[link_at]));
  const bool reserved_is_zero = bytes[link_at + 2] == std::byte{0} && bytes[link_at + 3] == std::byte{0};
  if (!link || !reserved_is_zero) {
    return std::nullopt;
  }
  DataHello hello;
  hello.connection.link = *link;
  hello.connection.index = std::to_integer<std::uint8_t>(bytes[link_at + 1]);
  std::ranges::copy(bytes.subspan<preamble_bytes, sizeof(SessionId)>(), hello.connection.session.begin());
  std::ranges::copy(bytes.last<sizeof(Proof)>(), hello.proof.begin());
  return hello;
}

void send_data_hello(int fd, const Token& token, const DataConnectionId& connection, std::int64_t deadline_ns) {
  const DataHello hello{.connection = connection, .proof = make_proof(token, connection, ProofRole::dialler)};
  write_exactly(fd, encode_data_hello(hello), deadline_ns);
}

void read_data_answer(int fd, const Token& token, const DataConnectionId& connection, std::int64_t deadline_ns) {
  std::array<std::byte, data_answer_bytes> bytes{};
  read_exactly(fd, bytes, deadline_ns);
  Proof proof{};
  std::ranges::copy(std::span(bytes).last<sizeof(Proof)>(), proof.begin());
  const bool is_data =
      std::ranges::equal(std::span(bytes).first<preamble_bytes>(), std::as_bytes(std::span(data_preamble)));
  if (!is_data || !check_proof(token, connection, ProofRole::listener, proof)) {
    throw Error::refused("the other end of the data connection is not the peer of this session");
  }
}

DataHello read_data_hello(int fd, std::int64_t deadline_ns) {
  std::array<std::byte, data_hello_bytes> bytes{};
  read_exactly(fd, bytes, deadline_ns);
  const auto hello = decode_data_hello(bytes);
  if (!hello) {
    throw Error::refused("a data connection did not begin as one");
  }
  return *hello;
}

void send_data_answer(int fd, const Token& token, const DataConnectionId& connection, std::int64_t deadline_ns) {
  std::array<std::byte, data_answer_bytes> bytes{};
  std::ranges::copy(std::as_bytes(std::span(data_preamble)), bytes.begin());
  std::ranges::copy(make_proof(token, connection, ProofRole::listener), bytes.begin() + preamble_bytes);
  write_exactly(fd, bytes, deadline_ns);
}

// ---- Over a native connection ----

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
