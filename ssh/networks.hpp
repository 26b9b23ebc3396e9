// The networks in which this host, and a peer, can most likely use RDMA.
#pragma once

#include <string>
#include <vector>

#include "base/host_addresses.hpp"

namespace framewire {

/// The addresses with RDMA, as "192.168.77.1/24" or "2001:db8::1/64".
std::vector<std::string> rdma_networks(const std::vector<OwnAddress>& addresses,
                                       const std::vector<ActiveRdmaDevice>& devices);

/// Whether it is such a network.
bool is_network(const std::string& text);

/// The listener's addresses in a network where the dialler has RDMA, too: both can most likely use RDMA through them.
/// Ignores texts that are not such networks, and the dialler's own addresses.
std::vector<std::string> shared_addresses(const std::vector<std::string>& listener,
                                          const std::vector<std::string>& dialler);

}  // namespace framewire
