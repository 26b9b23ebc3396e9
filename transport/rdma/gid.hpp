// The addresses of an RDMA port (GIDs), and which of them a connection should have.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace framewire {

/// How packets of a GID look on the wire. RoCE v2 is UDP, which routers and most switches expect.
enum class GidKind { infiniband, roce_v1, roce_v2 };

/// What the address in a GID is good for. Of link_local ones each interface has the same network, so that a peer cannot
/// know by the address alone which way to answer.
enum class GidScope { ipv4, global, link_local };

/// One entry of a port's GID table. A value.
struct RdmaGid {
  std::uint32_t index = 0;  // in the port's table
  GidKind kind = GidKind::infiniband;
  GidScope scope = GidScope::link_local;
  std::string address{};              // "192.168.7.1", "fe80::5054:ff:fe12:3456"
  std::uint32_t interface_index = 0;  // of the network interface that it belongs to; 0: none
};

std::string_view name(GidKind kind) noexcept;    // "IB", "RoCE v1", "RoCE v2"
std::string_view name(GidScope scope) noexcept;  // "IPv4", "IPv6", "link-local"

/// The scope of a raw GID (16 bytes, network order) and its address as people write it.
GidScope gid_scope(std::span<const std::uint8_t, 16> raw) noexcept;
std::string gid_address(std::span<const std::uint8_t, 16> raw);

/// The position in `gids` of the one that a connection should have: one of `reachable`, the addresses by which rdma_cm
/// finds the port, before others; an IPv4 address before a global IPv6 one before a link-local one, and among equals
/// RoCE v2. rdma_cm takes the GID of the address that was dialled, so that dialling an IPv4 address comes to the same;
/// the order is that of NCCL's and UCX's own choice. Nothing when there is no GID.
std::optional<std::size_t> best_gid(std::span<const RdmaGid> gids,
                                    std::span<const std::string> reachable = {}) noexcept;

}  // namespace framewire
