#include "base/pci_route.hpp"

#include <algorithm>
#include <cctype>
#include <vector>

namespace framewire {

namespace {

/// The bridges above the device, the host bridge first. Empty where the path is not that of a PCI device.
std::vector<std::string_view> bridges_above(const PciRoute& route) {
  constexpr std::string_view begin = "/sys/devices/pci";
  std::vector<std::string_view> names;
  std::string_view rest = route.path;
  if (!rest.starts_with(begin)) {
    return names;
  }
  rest.remove_prefix(begin.size());
  for (std::size_t end = rest.find('/'); end != std::string_view::npos; end = rest.find('/')) {
    names.push_back(rest.substr(0, end));
    rest.remove_prefix(end + 1);
  }
  return names;
}

}  // namespace

std::optional<int> read_numa_node(const SystemFiles& files, const std::string& folder) {
  const auto node = files.number(folder + "numa_node");  // "-1" does not parse: the machine does not say
  return node && *node < 4096 ? std::optional(static_cast<int>(*node)) : std::nullopt;
}

std::optional<std::string> read_pci_address(const SystemFiles& files, const std::string& folder) {
  return value_of(files.text(folder + "uevent").value_or(""), "PCI_SLOT_NAME");
}

PciRoute read_pci_route(const SystemFiles& files, std::string_view address) {
  std::string in_sysfs = "/sys/bus/pci/devices/" + std::string(address);
  std::ranges::transform(in_sysfs, in_sysfs.begin(), [](unsigned char letter) { return std::tolower(letter); });
  return {.path = files.resolved(in_sysfs).value_or(""), .numa_node = read_numa_node(files, in_sysfs + "/")};
}

PciDistance distance_between(const PciRoute& one, const PciRoute& other) {
  const auto ours = bridges_above(one);
  const auto theirs = bridges_above(other);
  if (ours.empty() || theirs.empty()) {
    return PciDistance::unknown;
  }
  const auto common = std::ranges::mismatch(ours, theirs).in1 - ours.begin();
  if (common == 0) {
    if (!one.numa_node || !other.numa_node) {
      return PciDistance::unknown;
    }
    return one.numa_node == other.numa_node ? PciDistance::processor : PciDistance::machine;
  }
  if (common == 1) {
    return PciDistance::host_bridge;
  }
  // A switch shows an upstream bridge, and below it one downstream bridge for each device.
  constexpr int bridges_below_one_switch = 1;
  const bool is_near = std::max(std::ssize(ours), std::ssize(theirs)) - common <= bridges_below_one_switch;
  return is_near ? PciDistance::one_switch : PciDistance::switches;
}

std::string_view describe(PciDistance distance) {
  switch (distance) {
    case PciDistance::one_switch:
      return "by one PCIe switch";
    case PciDistance::switches:
      return "by several PCIe switches";
    case PciDistance::host_bridge:
      return "by the processor's PCIe host bridge";
    case PciDistance::processor:
      return "by two PCIe host bridges of one processor";
    case PciDistance::machine:
      return "by two processors";
    case PciDistance::unknown:
      break;
  }
  return "by a way that the system does not tell";
}

std::string_view name(PciDistance distance) {
  switch (distance) {
    case PciDistance::one_switch:
      return "switch";
    case PciDistance::switches:
      return "switches";
    case PciDistance::host_bridge:
      return "host_bridge";
    case PciDistance::processor:
      return "processor";
    case PciDistance::machine:
      return "machine";
    case PciDistance::unknown:
      break;
  }
  return "unknown";
}

}  // namespace framewire
