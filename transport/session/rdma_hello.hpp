// How an RDMA connection proves that it belongs to its session: in the private data of connecting and accepting.
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

/// What came from the other side, padded by the connection manager; nothing when it is no hello.
std::optional<DataHello> decode_rdma_hello(std::span<const std::byte> bytes) noexcept;

}  // namespace framewire
