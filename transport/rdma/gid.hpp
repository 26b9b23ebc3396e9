// The addresses of an RDMA port (GIDs), and which of them a connection should use.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace framewire {

/// The packet format of a GID. RoCE v2 is UDP; routers and most switches expect it.
enum class GidKind { infiniband, roce_v1, roce_v2 };

/// The scope of the address in a GID. All interfaces share the link-local network, so a peer cannot tell from a
/// link_local address which interface to answer on.
enum class GidScope { ipv4, global, link_local };

/// One entry of a port's GID table. A value.
struct RdmaGid {
  std::uint32_t index = 0;  // in the port's table
  GidKind kind = GidKind::infiniband;
  GidScope scope = GidScope::link_local;
  std::string address{};              // "192.168.7.1", "fe80::5054:ff:fe12:3456"
  std::uint32_t interface_index = 0;  // its network interface; 0: none
};

std::string_view name(GidKind kind) noexcept;    // "IB", "RoCE v1", "RoCE v2"
std::string_view name(GidScope scope) noexcept;  // "IPv4", "IPv6", "link-local"

/// The scope of a raw GID (16 bytes, network order), and its address as text.
GidScope gid_scope(std::span<const std::uint8_t, 16> raw) noexcept;
std::string gid_address(std::span<const std::uint8_t, 16> raw);

/// The index in `gids` of the GID that a connection should use; nothing when there is none. Preference, most important
/// first: one of `reachable` (the addresses by which rdma_cm finds the port); IPv4, then global IPv6, then link-local;
/// RoCE v2. This is the order of NCCL and UCX. rdma_cm uses the GID of the dialled address, so dialling an IPv4 address
/// gives the same result.
std::optional<std::size_t> best_gid(std::span<const RdmaGid> gids,
                                    std::span<const std::string> reachable = {}) noexcept;

}  // namespace framewire
