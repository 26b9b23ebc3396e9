#include "transport/rdma/dial_targets.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <algorithm>
#include <cstring>

#include "base/error.hpp"
#include "base/text.hpp"

namespace framewire {

namespace {

bool is_of_another_machine(const in_addr& address) noexcept {
  const std::uint32_t bits = ntohl(address.s_addr);
  constexpr std::uint32_t this_network = 0;
  constexpr std::uint32_t loopback_net = 127;
  constexpr std::uint32_t link_local_net = 0xa9fe;  // 169.254.0.0/16
  constexpr std::uint32_t first_multicast = 224;    // everything above is reserved or broadcast
  const std::uint32_t net = bits >> 24;
  return net != this_network && net != loopback_net && net < first_multicast && bits >> 16 != link_local_net;
}

bool is_of_another_machine(const in6_addr& address) noexcept {
  return !IN6_IS_ADDR_UNSPECIFIED(&address) && !IN6_IS_ADDR_LOOPBACK(&address) && !IN6_IS_ADDR_MULTICAST(&address) &&
         !IN6_IS_ADDR_LINKLOCAL(&address) && !IN6_IS_ADDR_V4MAPPED(&address);
}

}  // namespace

std::optional<SocketAddress> rdma_address_from_text(std::string_view text, std::uint16_t port) {
  const std::string ended(text);
  if (ended.find('\0') != std::string::npos) {
    return std::nullopt;
  }
  SocketAddress address;
  sockaddr_in v4{};
  sockaddr_in6 v6{};
  if (::inet_pton(AF_INET, ended.c_str(), &v4.sin_addr) == 1 && is_of_another_machine(v4.sin_addr)) {
    v4.sin_family = AF_INET;
    std::memcpy(&address.storage, &v4, sizeof v4);
    address.size_bytes = sizeof v4;
  } else if (::inet_pton(AF_INET6, ended.c_str(), &v6.sin6_addr) == 1 && is_of_another_machine(v6.sin6_addr)) {
    v6.sin6_family = AF_INET6;
    std::memcpy(&address.storage, &v6, sizeof v6);
    address.size_bytes = sizeof v6;
  } else {
    return std::nullopt;
  }
  set_port(address, port);
  return address;
}

SocketAddress named_rdma_address(const std::string& text, std::uint16_t port) {
  const auto address = rdma_address_from_text(text, port);
  if (!address) {
    throw Error::usage("--rdma-address is " + quote(text) +
                       "; it takes an IPv4 or IPv6 address that other machines can reach: not loopback, link-local or "
                       "multicast");
  }
  return *address;
}

std::vector<SocketAddress> rdma_addresses_to_dial(std::span<const SocketAddress> reached,
                                                  std::span<const std::string> announced, std::uint16_t port) {
  std::vector<SocketAddress> addresses(reached.begin(), reached.end());
  const auto is_known = [&](const SocketAddress& one) {
    return std::ranges::any_of(
        addresses, [&](const SocketAddress& other) { return format_address(one) == format_address(other); });
  };
  std::size_t tried = 0;
  for (const std::string& text : announced.first(std::min(announced.size(), max_rdma_addresses))) {
    const auto address = rdma_address_from_text(text, port);
    if (address && tried < max_announced_addresses_tried && !is_known(*address)) {
      addresses.push_back(*address);
      ++tried;
    }
  }
  return addresses;
}

std::int64_t rdma_address_time_ns(std::int64_t remaining_ns, std::size_t addresses_left) noexcept {
  if (addresses_left <= 1) {
    return remaining_ns;
  }
  const auto left = static_cast<std::int64_t>(addresses_left);
  const bool is_enough = remaining_ns >= rdma_retry_ns + (left - 1) * min_rdma_address_ns;
  return is_enough ? rdma_retry_ns : remaining_ns / left;
}

}  // namespace framewire
