// Which of a host's networks have RDMA, found without opening a device: the processes that a stage's program forks
// could not use it any more.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace framewire {

/// "192.168.77.1/24", "2001:db8::1/64": the addresses, with their networks, of the interfaces that stand on an RDMA
/// device. Empty where this process may not use RDMA. `class_folder`: where the kernel lists the devices.
std::vector<std::string> rdma_networks(const std::filesystem::path& class_folder = "/sys/class/infiniband");

/// Those of the listener's addresses that lie in a network which the dialler has by RDMA, too: by them both ends can
/// have it, most likely. Texts that are no such addresses count for nothing.
std::vector<std::string> shared_addresses(const std::vector<std::string>& listener,
                                          const std::vector<std::string>& dialler);

}  // namespace framewire
