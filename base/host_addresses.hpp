// The addresses of this host that others can dial, and its RDMA devices, which have some of them.
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

/// An RDMA device with an active port, by sysfs. It is not opened: after fork() a child could not use an opened one.
struct ActiveRdmaDevice {
  std::string name{};                             // "mlx5_0"
  std::set<std::array<std::uint8_t, 16>> gids{};  // of its RoCE ports: addresses, in any network namespace
  std::set<std::string> interfaces{};             // of its InfiniBand and iWARP ports, whose GIDs are not addresses

  [[nodiscard]] bool has(const OwnAddress& address) const {
    return gids.contains(address.gid) || interfaces.contains(address.interface);
  }
};
/// Sorted by name.
std::vector<ActiveRdmaDevice> active_rdma_devices(const SystemFiles& files = SystemFiles());

}  // namespace framewire
