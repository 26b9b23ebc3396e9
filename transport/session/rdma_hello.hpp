// The authentication of an RDMA connection for its session, in the private data of the connect and accept messages.
//   dialler   "FWR1" | index 1 | 0 0 0 | session id 16 | proof 32
//   listener  "FWR1" | index 1 | 0 0 0 | session id 16 | its own proof 32
#pragma once

#include <cstddef>
#include <optional>
#include <span>

#include "transport/control/token.hpp"
#include "transport/rdma/connection.hpp"

namespace framewire {

RdmaPrivateData encode_rdma_hello(const DataHello& hello) noexcept;

/// Decodes the peer's private data, which the connection manager pads; nullopt when it is not a hello.
std::optional<DataHello> decode_rdma_hello(std::span<const std::byte> bytes) noexcept;

}  // namespace framewire
