// How far apart two PCI Express devices are.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/system_files.hpp"

namespace framewire {

/// A device's place in the tree of bridges.
struct PciRoute {
  /// "/sys/devices/pci0000:3a/0000:3a:00.0/0000:3b:00.0": the host bridge, the bridges below it, the device. Empty: not
  /// known.
  std::string path{};
  std::optional<int> numa_node{};  // nothing: the machine has only one, or does not say
};

/// The nearest first; what is not known counts as farthest. nvidia-smi calls them PIX, PXB, PHB, NODE and SYS.
enum class PciDistance : std::uint8_t { one_switch, switches, host_bridge, processor, machine, unknown };

/// Of a device's folder in sysfs, with a slash at its end.
std::optional<int> read_numa_node(const SystemFiles& files, const std::string& folder);
/// "0000:3b:00.0", of such a folder; nothing: the device is not on the bus.
std::optional<std::string> read_pci_address(const SystemFiles& files, const std::string& folder);
/// "0000:3b:00.0": any letters' case.
PciRoute read_pci_route(const SystemFiles& files, std::string_view address);
PciDistance distance_between(const PciRoute& one, const PciRoute& other);
/// "by one PCIe switch", to be used within a sentence.
std::string_view describe(PciDistance distance);
/// For JSON: "switch".
std::string_view name(PciDistance distance);

}  // namespace framewire
