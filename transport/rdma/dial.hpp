// Dials the RDMA listener of a session's peer.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "transport/link_provider.hpp"
#include "transport/rdma/connection.hpp"
#include "transport/rdma/dial_targets.hpp"

namespace framewire {

/// A firewall that drops RDMA makes the attempt time out, and tcp must not wait long for that. This is longer than
/// rdma_retry_ns, so it allows one loss.
inline constexpr std::int64_t rdma_connection_timeout_ns = 6'000'000'000;

/// The error for a machine without a usable RDMA device.
Error no_rdma_device();

/// Where an RDMA listener is found. docs/wire.md lists the fields.
struct RdmaListenerAddress {
  std::uint16_t port = 0;
  std::vector<std::string> addresses{};  // numeric; for a dialler that has reached another address
};
/// Announces those addresses that other machines can reach, at most max_rdma_addresses. May throw std::bad_alloc.
LinkDescription describe(const RdmaListenerAddress& listener);
/// From the peer's words. The dialler checks the addresses' content (rdma_address_from_text()). Throws Error (failed)
/// that names the field.
RdmaListenerAddress rdma_listener_from(const LinkDescription& description);

/// Connects, and checks the peer's proof. `to` is the reached() address of the control connection, with the listener's
/// RDMA port. For a peer on this machine, any address of its RDMA devices works. If no local device reaches `to`, tries
/// the addresses that the peer announced. Throws Error.
std::unique_ptr<RdmaConnection> dial_rdma(const HostPort& to, const ConnectProof& proof, const RdmaOptions& options,
                                          std::int64_t deadline_ns, const RdmaTargets& targets = {});

}  // namespace framewire
