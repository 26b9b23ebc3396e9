// RDMA data connections of sessions.
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

/// A firewall that drops RDMA makes the attempt time out, and tcp must not wait long for that. But the kernel repeats a
/// lost request only after 4.3 s (CMA_CM_RESPONSE_TIMEOUT), so this allows one loss.
inline constexpr std::int64_t rdma_connection_timeout_ns = 6'000'000'000;

/// The error for a machine without a usable RDMA device.
Error no_rdma_device();
[[nodiscard]] bool has_rdma_device();

/// Connects to the RDMA listener of a session's peer and authenticates the connection. `to` is the reached() address of
/// the control connection, with the listener's RDMA port. For a peer on this machine, any address of its RDMA devices
/// works. If no local device reaches `to`, tries the addresses that the peer announced. Throws Error.
std::unique_ptr<RdmaConnection> dial_rdma(const HostPort& to, const Token& token, const DataConnectionId& connection,
                                          const RdmaOptions& options, std::int64_t deadline_ns,
                                          const RdmaTargets& targets = {});

}  // namespace framewire
