// The addresses of this host that others can dial, and which of them have RDMA.
#pragma once

#include <array>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "base/system_files.hpp"

namespace framewire {

/// An address with its prefix, of an interface that is up in this process's network namespace. Neither loopback nor
/// link-local.
struct OwnAddress {
  std::string interface {};
  std::string text{};                  // "192.168.77.1"
  unsigned prefix_bits = 0;            // 24
  std::array<std::uint8_t, 16> gid{};  // as in a RoCE GID: IPv4 as ::ffff:a.b.c.d
  bool is_running = false;             // the link is up: the cable's other end is connected
};
std::vector<OwnAddress> own_addresses();

/// This machine's RDMA ports by sysfs. No device is opened: after fork() a child could not use an opened one.
struct RdmaPlaces {
  std::set<std::array<std::uint8_t, 16>> gids{};  // of active RoCE ports: addresses, in any network namespace
  std::set<std::string> interfaces{};             // of active InfiniBand and iWARP ports, whose GIDs are not addresses
};
RdmaPlaces rdma_places(const SystemFiles& files = SystemFiles());

/// The addresses with RDMA, as "192.168.77.1/24" or "2001:db8::1/64".
std::vector<std::string> rdma_networks(const std::vector<OwnAddress>& addresses, const RdmaPlaces& places);

/// Whether it is such a network.
bool is_network(const std::string& text);

/// The listener's addresses in a network where the dialler has RDMA, too: both can most likely use RDMA through them.
/// Ignores texts that are not such networks, and the dialler's own addresses.
std::vector<std::string> shared_addresses(const std::vector<std::string>& listener,
                                          const std::vector<std::string>& dialler);

}  // namespace framewire
