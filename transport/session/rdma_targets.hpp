// At which addresses the RDMA listener of a peer is dialled, and in what order.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "transport/address.hpp"

namespace framewire {

/// What a listener tells of itself, and what a dialler believes and tries of that: somebody's list must not keep it
/// busy.
inline constexpr std::size_t max_rdma_addresses = 16;
inline constexpr std::size_t max_told_addresses_tried = 4;

struct RdmaTargets {
  std::vector<std::string> told;  // by the peer: its RDMA addresses, unchecked
  std::string only;               // by the user (--rdma-address): no other one is tried; empty: not said
};

/// An address in figures that can belong to an RDMA device of another machine. Nothing for other text, and for an
/// address that is loopback, multicast, unspecified, or of one link alone, on which side of it nobody could tell.
std::optional<SocketAddress> rdma_address_from_text(std::string_view text, std::uint16_t port);

/// The same of --rdma-address. Throws Error (usage) that names it.
SocketAddress named_rdma_address(const std::string& text, std::uint16_t port);

/// Those that the control connection has `reached` first: they lead to the peer for certain. Then what the peer has
/// told of, each once.
std::vector<SocketAddress> rdma_addresses_to_dial(std::span<const SocketAddress> reached,
                                                  std::span<const std::string> told, std::uint16_t port);

}  // namespace framewire
