// How the two sides of a data connection prove that they belong to one session: over a socket, or over a link's native
// connection. docs/wire.md, "Data connections", has the bytes.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "transport/control/token.hpp"
#include "transport/link_provider.hpp"

namespace framewire {

/// The dialler's first message: whose connection it is, and the proof.
struct DataHello {
  DataConnectionId connection;
  Proof proof{};
};

inline constexpr std::size_t data_hello_bytes = 60;
inline constexpr std::size_t data_answer_bytes = 40;

// ---- Over a socket ----

/// Encodes and decodes the hello; decoding returns nothing for other bytes.
std::array<std::byte, data_hello_bytes> encode_data_hello(const DataHello& hello) noexcept;
std::optional<DataHello> decode_data_hello(std::span<const std::byte, data_hello_bytes> bytes) noexcept;

/// The dialling side calls these in this order, over a connected socket, blocking or not. Both throw Error: lost_peer,
/// refused (the answer is wrong).
void send_data_hello(int fd, const Token& token, const DataConnectionId& connection, std::int64_t deadline_ns);
void read_data_answer(int fd, const Token& token, const DataConnectionId& connection, std::int64_t deadline_ns);

/// The listening side calls these in this order. read_data_hello() takes exactly the hello off the socket. Both throw
/// Error: lost_peer, refused.
DataHello read_data_hello(int fd, std::int64_t deadline_ns);
void send_data_answer(int fd, const Token& token, const DataConnectionId& connection, std::int64_t deadline_ns);

// ---- Over a native connection: the bytes that a link with a listener of its own carries when it connects ----
//
//   dialler   "FWR1" | index 1 | 0 0 0 | session id 16 | proof 32
//   listener  "FWR1" | index 1 | 0 0 0 | session id 16 | its own proof 32
//
// The numbers are sizes in bytes. rdma carries them in its private data.

/// For the side that dials `connection`.
ConnectProof make_connect_proof(const Token& token, const DataConnectionId& connection);

ConnectHello encode_connect_hello(const DataHello& hello) noexcept;
/// Decodes the bytes of the peer, which the link may have padded; nullopt when they are not a hello. `link` is the link
/// whose listener received them.
std::optional<DataHello> decode_connect_hello(std::span<const std::byte> bytes, LinkKind link) noexcept;

}  // namespace framewire
