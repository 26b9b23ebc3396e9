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
  *to++ = static_cast<std::byte>(traits(hello.connection.link).number);
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

}  // namespace framewire
