// How the two sides of a data connection prove over the socket that they belong to one session. docs/wire.md, "Data
// connections", has the bytes.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "transport/control/token.hpp"

namespace framewire {

inline constexpr std::size_t data_hello_bytes = 60;
inline constexpr std::size_t data_answer_bytes = 40;

/// Encodes and decodes the hello; decoding returns nothing for other bytes. rdma carries the same fields in its private
/// data.
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

}  // namespace framewire
