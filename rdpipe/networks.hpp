// The addresses of this host that others can dial, and which of them RDMA has.
#pragma once

#include <array>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "base/system_files.hpp"

namespace framewire {

/// An address with its network, of an interface of this process's network that is up: neither loopback nor link-local.
struct OwnAddress {
  std::string interface {};
  std::string text{};                  // "192.168.77.1"
  unsigned prefix_bits = 0;            // 24
  std::array<std::uint8_t, 16> gid{};  // as a GID of RoCE has it: IPv4 behind ::ffff:
  bool is_running = false;             // there is something at the other end of the cable
};
std::vector<OwnAddress> own_addresses();

/// What the kernel says of this machine's RDMA devices, without opening one: the processes that a stage's program forks
/// could not use it any more.
struct RdmaPlaces {
  std::set<std::array<std::uint8_t, 16>> gids{};  // of active RoCE ports: addresses, in whichever network they are
  std::set<std::string> interfaces{};             // of active InfiniBand and iWARP ports, whose GIDs are no addresses
};
RdmaPlaces rdma_places(const SystemFiles& files = SystemFiles());

/// "192.168.77.1/24", "2001:db8::1/64": those of the addresses at which RDMA is to be had.
std::vector<std::string> rdma_networks(const std::vector<OwnAddress>& addresses, const RdmaPlaces& places);

/// Those of the listener's addresses that lie in a network which the dialler has by RDMA, too: by them both ends can
/// have it, most likely. Texts that are no such networks count for nothing, nor do the dialler's own addresses.
std::vector<std::string> shared_addresses(const std::vector<std::string>& listener,
                                          const std::vector<std::string>& dialler);

}  // namespace framewire
