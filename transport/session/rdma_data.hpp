// RDMA data connections of sessions, in both directions.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/error.hpp"
#include "transport/control/token.hpp"
#include "transport/endpoint_options.hpp"
#include "transport/rdma/connection.hpp"
#include "transport/session/rdma_targets.hpp"

namespace framewire {

/// A peer on the other side of a firewall that drops RDMA says nothing; tcp shall not have to wait for long. But
/// the kernel repeats a lost request only after 4.3 s (CMA_CM_RESPONSE_TIMEOUT), and one may be lost.
inline constexpr std::int64_t rdma_connection_timeout_ns = 6'000'000'000;

/// The sentence for a machine that can make no RDMA connection at all.
Error no_rdma_device();
[[nodiscard]] bool has_rdma_device();

/// Connects to the RDMA listener of a session's peer and proves the session. `to` is what reached() says of the control
/// connection, with the listener's RDMA port; for a peer on this machine any of its RDMA devices' addresses will do.
/// Where no device here leads there, the addresses are tried that the peer has told of. Throws Error.
std::unique_ptr<RdmaConnection> dial_rdma(const HostPort& to, const Token& token, const DataConnectionId& connection,
                                          const RdmaOptions& options, std::int64_t deadline_ns,
                                          const RdmaTargets& targets = {});

}  // namespace framewire
