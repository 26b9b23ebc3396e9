// What the doctor knows of a machine's RDMA: devices as verbs and as sysfs have them, and what must stand around them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "transport/rdma/devices.hpp"

namespace framewire {

/// How an Ethernet port treats priorities (data centre bridging, IEEE 802.1Q).
struct InterfacePriorities {
  std::uint8_t lossless = 0;                                              // bit n: priority n has flow control (PFC)
  std::vector<std::pair<std::uint8_t, std::uint8_t>> dscp_to_priority{};  // as `dcb app` has it
};

/// A network interface by /sys/class/net and getifaddrs(); where there is no /sys by the latter alone.
struct NetworkInterface {
  std::string name;
  std::uint32_t index = 0;
  bool is_up = false;
  bool is_loopback = false;
  bool has_carrier = false;
  bool is_ethernet = false;
  bool has_card = false;           // hardware, or what a virtual machine has for it: no bridge, no tunnel
  bool has_default_route = false;  // IPv4's or IPv6's way to everywhere
  std::uint32_t mtu_bytes = 0;     // 0: not known
  std::optional<std::uint32_t> megabits_per_second{};
  std::vector<std::string> addresses{};             // IPv4, and IPv6 that are not link-local
  std::optional<InterfacePriorities> priorities{};  // nothing: its driver knows of none
};

/// A PCI Express link: what it runs at, and what the card could.
struct PciLink {
  double gigatransfers = 0;  // per second and lane; 0: unknown
  std::uint32_t lanes = 0;

  /// Data rate in one direction, in Gb/s: 8b/10b coding up to generation 2 (5 GT/s), 128b/130b above (PCI Express Base
  /// Specification, 4.2). Packet headers take another tenth.
  [[nodiscard]] double gigabits_per_second() const noexcept {
    return gigatransfers * lanes * (gigatransfers > 5.0 ? 128.0 / 130.0 : 0.8);
  }
};

struct PciPlace {
  std::string address;  // "0000:3b:00.0"
  PciLink current;
  PciLink most;
  bool is_virtual = false;  // a function of SR-IOV, beside the card's own
};

/// A port of /sys/class/infiniband/DEVICE/ports.
struct RdmaPortPlace {
  std::uint8_t number = 1;
  std::string state;               // "ACTIVE"
  double gigabits_per_second = 0;  // 0: unknown
  std::string interface;           // "ens3f0np0"; empty: not known
};

/// One RDMA device, from both sides.
struct RdmaAdapter {
  std::string name;
  std::string driver;            // "mlx5_core"; empty for those in software
  std::string board;             // "MT_0000000008"
  std::optional<PciPlace> pci;   // nothing for those in software
  std::optional<int> numa_node;  // nothing: the machine has one, or does not say
  std::vector<RdmaPortPlace> ports;
  std::optional<RdmaDevice> device;  // as verbs have it; nothing: libibverbs does not list it
};

/// unknown: this system does not have the kernel's list of modules, as in a container.
enum class ModuleState { unknown, absent, loadable, loaded, built_in };

/// A network card that can do RDMA, and for which there is no RDMA device.
struct DormantCard {
  std::string address;                        // "0000:3b:00.0"
  std::string driver;                         // that is there: "mlx5_core"
  std::string module;                         // of its RDMA driver: "mlx5_ib"
  ModuleState state = ModuleState::loadable;  // of that
};

struct KernelModule {
  std::string name;
  ModuleState state = ModuleState::unknown;
};

/// A file below /dev/infiniband.
struct DeviceFile {
  std::string path;
  std::string mode;        // "0600"
  bool is_usable = false;  // this user may read and write it
};

struct RdmaFacts {
  std::vector<RdmaAdapter> adapters;
  std::vector<DormantCard> dormant_cards;
  std::vector<KernelModule> modules;
  std::vector<DeviceFile> files;
  std::string list_trouble;       // why libibverbs listed nothing
  std::string manager_trouble;    // why librdmacm cannot make connections; empty: it can, or there is no device
  bool has_rdma_command = false;  // iproute2's
};

}  // namespace framewire
