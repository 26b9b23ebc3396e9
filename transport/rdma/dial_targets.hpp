// The addresses at which to dial a peer's RDMA listener, in order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "transport/address.hpp"

namespace framewire {

/// How many addresses a listener announces, and how many of them a dialler tries: a peer's long list must not keep it
/// busy.
inline constexpr std::size_t max_rdma_addresses = 16;
inline constexpr std::size_t max_announced_addresses_tried = 4;

struct RdmaTargets {
  std::vector<std::string> announced;  // the peer's announced RDMA addresses, unchecked
  std::string only;                    // the user's --rdma-address, the only one to try; empty: not set
};

/// Parses a numeric address that can belong to an RDMA device of another machine. Nullopt for other text, and for
/// loopback, multicast, unspecified and link-local addresses. A link-local address does not say on which network it is.
std::optional<SocketAddress> rdma_address_from_text(std::string_view text, std::uint16_t port);

/// The same for --rdma-address. Throws Error (usage) that names it.
SocketAddress named_rdma_address(const std::string& text, std::uint16_t port);

/// First the `reached` addresses of the control connection, which certainly lead to the peer. Then the announced
/// addresses, without duplicates.
std::vector<SocketAddress> rdma_addresses_to_dial(std::span<const SocketAddress> reached,
                                                  std::span<const std::string> announced, std::uint16_t port);

// ---- How long each address is tried ----

/// The kernel repeats a lost request after 4.3 s (CMA_CM_RESPONSE_TIMEOUT). An address that is tried for this long
/// survives one loss.
inline constexpr std::int64_t rdma_retry_ns = 4'600'000'000;
/// Enough for an address that answers.
inline constexpr std::int64_t min_rdma_address_ns = 250'000'000;

/// How long to try the next of `addresses_left` addresses, when `remaining_ns` are left for all: long enough for the
/// kernel's repetition if every later address still gets min_rdma_address_ns; otherwise its equal share. So the address
/// of the control connection, which is tried first, survives one loss, and a silent one leaves time for the others.
std::int64_t rdma_address_time_ns(std::int64_t remaining_ns, std::size_t addresses_left) noexcept;

}  // namespace framewire
