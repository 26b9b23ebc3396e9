// The proof that a native connection belongs to its session: the bytes that a link with a listener of its own carries
// when it connects (rdma: private data).
//   dialler   "FWR1" | index 1 | 0 0 0 | session id 16 | proof 32
//   listener  "FWR1" | index 1 | 0 0 0 | session id 16 | its own proof 32
// The numbers are sizes in bytes.
#pragma once

#include <cstddef>
#include <optional>
#include <span>

#include "transport/control/token.hpp"
#include "transport/link_provider.hpp"

namespace framewire {

/// For the side that dials `connection`.
ConnectProof make_connect_proof(const Token& token, const DataConnectionId& connection);

ConnectHello encode_connect_hello(const DataHello& hello) noexcept;
/// Decodes the bytes of the peer, which the link may have padded; nullopt when they are not a hello. `link` is the link
/// whose listener received them.
std::optional<DataHello> decode_connect_hello(std::span<const std::byte> bytes, LinkKind link) noexcept;

}  // namespace framewire
