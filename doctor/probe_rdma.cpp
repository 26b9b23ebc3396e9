// RDMA devices, from sysfs and from libibverbs, and whether a port can carry frames.
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <span>
#include <utility>

#include "base/error.hpp"
#include "doctor/probe.hpp"

namespace framewire {

namespace {

bool is_ethernet(const RdmaPort& port) {
  return port.link_layer == RdmaLinkLayer::ethernet;
}

PortFault fault_of_state(const RdmaPort& port) {
  switch (port.state) {
    case RdmaPortState::active:
      return PortFault::none;
    case RdmaPortState::init:
      return is_ethernet(port) ? PortFault::down : PortFault::waits_for_subnet_manager;
    case RdmaPortState::armed:
      return PortFault::being_set_up;
    default:
      return PortFault::down;
  }
}

bool has_address(const NetworkInterface& interface, const std::string& address) {
  return std::ranges::find(interface.addresses, address) != interface.addresses.end();
}

/// Decides by rdma_cm's answer, since the programs connect through it. If rdma_cm finds the port by no address, the
/// GIDs tell more: they belong to the device's network namespace, which may differ from this process's.
PortFault fault_of_address(const RdmaPortView& view, const NetworkFacts& network) {
  const RdmaPort& port = *view.port;
  if (!port.addresses || !port.addresses->empty()) {
    return PortFault::none;
  }
  const bool names_its_network = is_ethernet(port) && view.adapter->device->transport == RdmaTransport::infiniband &&
                                 view.gid->scope != GidScope::link_local;
  const auto has_it = [&](const NetworkInterface& one) { return has_address(one, view.gid->address); };
  return names_its_network && std::ranges::none_of(network.interfaces, has_it) ? PortFault::other_network
                                                                               : PortFault::no_address;
}

PortFault fault_of(const RdmaPortView& view, const NetworkFacts& network) {
  const RdmaDevice& device = *view.adapter->device;
  if (device.transport == RdmaTransport::other) {
    return PortFault::no_connections;
  }
  if (const PortFault state = fault_of_state(*view.port); state != PortFault::none) {
    return state;
  }
  if (view.gid == nullptr) {
    return PortFault::no_gid;
  }
  if (const PortFault address = fault_of_address(view, network); address != PortFault::none) {
    return address;
  }
  return device.queue_pair_trouble.empty() ? PortFault::none : PortFault::no_queue_pair;
}

/// The port's address; of several the one of its best GID. A GID of InfiniBand or iWARP is not an address.
std::string address_of(const RdmaPort& port, const RdmaGid* gid) {
  if (!port.addresses || port.addresses->empty()) {
    return "";
  }
  const bool is_gid = gid != nullptr && std::ranges::find(*port.addresses, gid->address) != port.addresses->end();
  return is_gid ? gid->address : port.addresses->front();
}

template <typename Fits>
const NetworkInterface* find_interface(const NetworkFacts& network, Fits fits) {
  const auto found = std::ranges::find_if(network.interfaces, fits);
  return found == network.interfaces.end() ? nullptr : &*found;
}

/// The interface with the address, which may be a VLAN or a bond on `base`. Without a known address, the interface of
/// the best GID; without that, `base`.
const NetworkInterface* interface_of(const RdmaPortView& view, const NetworkFacts& network) {
  const auto* owner =
      find_interface(network, [&](const auto& one) { return !view.address.empty() && has_address(one, view.address); });
  if (owner == nullptr && view.gid != nullptr && view.gid->interface_index != 0) {
    owner = find_interface(network, [&](const auto& one) { return one.index == view.gid->interface_index; });
  }
  return owner != nullptr ? owner : view.base;
}

std::string adapter_fault(const RdmaAdapter& adapter) {
  if (!adapter.device) {
    return adapter.name + " is not listed by libibverbs";
  }
  return adapter.device->trouble.empty() ? "" : adapter.name + " " + adapter.device->trouble;
}

}  // namespace

RdmaPortView view_port(const RdmaAdapter& adapter, const RdmaPort& port, const NetworkFacts& network) {
  RdmaPortView view{.adapter = &adapter, .port = &port};
  const std::span<const std::string> reachable =
      port.addresses ? std::span<const std::string>(*port.addresses) : std::span<const std::string>();
  if (const auto best = best_gid(port.gids, reachable)) {
    view.gid = &port.gids.at(*best);
  }
  view.address = address_of(port, view.gid);
  view.fault = fault_of(view, network);
  const auto known = std::ranges::find(adapter.ports, port.number, &RdmaPortPlace::number);
  if (known != adapter.ports.end()) {
    view.gigabits_per_second = known->gigabits_per_second;
  }
  if (view.fault != PortFault::other_network) {  // another namespace may have the same names and numbers
    const std::string place = known != adapter.ports.end() ? known->interface : "";
    view.base = find_interface(network, [&](const auto& one) { return one.name == place; });
    view.interface = interface_of(view, network);
  }
  return view;
}

std::string describe(PortFault fault) {
  switch (fault) {
    case PortFault::none:
      return "";
    case PortFault::no_connections:
      return "its kind of device is neither InfiniBand, RoCE nor iWARP";
    case PortFault::no_queue_pair:
      return "no queue pair can be made on it";
    case PortFault::waits_for_subnet_manager:
      return "it waits for a subnet manager";
    case PortFault::being_set_up:
      return "its subnet manager has not finished with it";
    case PortFault::down:
      return "it is down";
    case PortFault::no_gid:
      return "it has no GID";
    case PortFault::no_address:
      return "its network interface has no address";
    case PortFault::other_network:
      return "its addresses are not in this process's network";
  }
  return "";
}

UsableRdmaPort find_usable_rdma_port(const MachineFacts& machine, bool lock_is_enough) {
  const RdmaFacts& rdma = machine.rdma;
  UsableRdmaPort usable;
  usable.why_not = rdma.list_trouble.empty() ? "no RDMA device" : rdma.list_trouble;
  for (const RdmaAdapter& adapter : rdma.adapters) {
    usable.why_not = adapter_fault(adapter);
    if (!usable.why_not.empty()) {
      continue;
    }
    for (const RdmaPort& port : adapter.device->ports) {
      const RdmaPortView view = view_port(adapter, port, machine.network);
      if (view.fault != PortFault::none) {
        usable.why_not = adapter.name + " port " + std::to_string(port.number) + ": " + describe(view.fault);
      } else if (!usable.best || view.gigabits_per_second > usable.best->gigabits_per_second) {
        usable.best = view;
      }
    }
  }
  if (usable.best && !rdma.manager_trouble.empty()) {
    usable.best.reset();
    usable.why_not = "rdma_cm cannot make connections: " + rdma.manager_trouble;
  } else if (usable.best && !lock_is_enough) {
    usable.best.reset();
    usable.why_not = "the limit of locked memory is too low";
  }
  return usable;
}

namespace {

constexpr std::string_view class_folder = "/sys/class/infiniband/";

/// "8.0 GT/s PCIe" and "16".
PciLink read_link(const SystemFiles& files, const std::string& device, const std::string& which) {
  return {files.decimal(device + which + "_link_speed").value_or(0),
          static_cast<std::uint32_t>(
              std::min<std::uint64_t>(files.number(device + which + "_link_width").value_or(0), 64))};
}

std::optional<PciPlace> read_pci(const SystemFiles& files, const std::string& device) {
  const auto address = read_pci_address(files, device);
  if (!address) {
    return std::nullopt;
  }
  return PciPlace{*address, read_link(files, device, "current"), read_link(files, device, "max"),
                  files.exists(device + "physfn"), read_pci_route(files, *address)};
}

/// "4: ACTIVE"
std::string word_behind_colon(const std::string& line) {
  const std::size_t colon = line.find(':');
  return std::string(trimmed(colon == std::string::npos ? line : line.substr(colon + 1)));
}

/// The network interface of a port: that of its first address; else, on InfiniBand, the interface that names this port;
/// else the parent that Soft-RoCE names.
std::string interface_of_port(const SystemFiles& files, const std::string& adapter, std::uint8_t number) {
  const std::string owners = adapter + "ports/" + std::to_string(number) + "/gid_attrs/ndevs/";
  for (int index = 0; index < 8; ++index) {
    const auto owner = files.line(owners + std::to_string(index));
    if (owner && !owner->empty()) {
      return *owner;
    }
  }
  for (const std::string& name : files.names(adapter + "device/net")) {
    const std::string folder = fmt::format("{}device/net/{}/", adapter, name);
    const auto port = files.number(folder + "dev_port");
    if (port && *port + 1 == number) {
      return name;
    }
  }
  return files.line(adapter + "parent").value_or("");
}

std::vector<RdmaPortPlace> read_ports(const SystemFiles& files, const std::string& adapter) {
  std::vector<RdmaPortPlace> ports;
  for (const std::string& name : files.names(adapter + "ports")) {
    const auto number = leading_number(name);
    if (!number || *number == 0 || *number > 255) {
      continue;
    }
    const std::string folder = fmt::format("{}ports/{}/", adapter, name);
    RdmaPortPlace port;
    port.number = static_cast<std::uint8_t>(*number);
    port.state = word_behind_colon(files.line(folder + "state").value_or(""));
    port.gigabits_per_second = files.decimal(folder + "rate").value_or(0);
    port.interface = interface_of_port(files, adapter, port.number);
    ports.push_back(std::move(port));
  }
  return ports;
}

RdmaAdapter read_adapter(const SystemFiles& files, const std::string& name) {
  const std::string folder = std::string(class_folder) + name + "/";
  RdmaAdapter adapter;
  adapter.name = name;
  adapter.driver = value_of(files.text(folder + "device/uevent").value_or(""), "DRIVER").value_or("");
  adapter.board = files.line(folder + "board_id").value_or("");
  adapter.pci = read_pci(files, folder + "device/");
  adapter.numa_node = read_numa_node(files, folder + "device/");
  adapter.ports = read_ports(files, folder);
  return adapter;
}

std::optional<DeviceFile> read_device_file(const SystemFiles& files, const std::string& path) {
  struct stat status {};
  const std::string real = files.real_path(path);
  if (::stat(real.c_str(), &status) != 0) {
    return std::nullopt;
  }
  std::array<char, 8> mode{};
  std::snprintf(mode.data(), mode.size(), "%04o", status.st_mode & 07777U);
  return DeviceFile{path, mode.data(), ::access(real.c_str(), R_OK | W_OK) == 0};
}

struct RdmaDriver {
  std::string_view network;  // the driver of the network card
  std::string_view rdma;     // the module beside it
};

/// The drivers of drivers/infiniband/hw in Linux that need a separate network driver.
constexpr std::array<RdmaDriver, 5> rdma_drivers = {
    {{"mlx5_core", "mlx5_ib"}, {"mlx4_core", "mlx4_ib"}, {"bnxt_en", "bnxt_re"}, {"ice", "irdma"}, {"qede", "qedr"}}};

std::vector<DormantCard> dormant_cards(const SystemFiles& files, const std::string& kernel) {
  std::vector<DormantCard> cards;
  for (const std::string& address : files.names("/sys/bus/pci/devices")) {
    const std::string folder = "/sys/bus/pci/devices/" + address + "/";
    const std::string driver = value_of(files.text(folder + "uevent").value_or(""), "DRIVER").value_or("");
    const auto* const known = std::ranges::find(rdma_drivers, std::string_view(driver), &RdmaDriver::network);
    if (known != rdma_drivers.end() && !files.exists(folder + "infiniband")) {
      const std::string module(known->rdma);
      cards.push_back({address, driver, module, module_state(files, kernel, module)});
    }
  }
  return cards;
}

bool lists_module(const std::string& text, const std::string& name) {
  // "kernel/drivers/infiniband/sw/rxe/rdma_rxe.ko.xz: …"; - and _ are interchangeable there.
  const auto same = [](char one, char other) { return one == other || (one == '-' && other == '_'); };
  const std::string wanted = "/" + name + ".ko";
  const auto found = std::search(text.begin(), text.end(), wanted.begin(), wanted.end(), same);
  return found != text.end();
}

}  // namespace

ModuleState module_state(const SystemFiles& files, const std::string& kernel, const std::string& module) {
  constexpr std::size_t largest_list_bytes = std::size_t{8} << 20;
  const std::string folder = "/sys/module/" + module;
  if (files.exists(folder + "/initstate")) {
    return ModuleState::loaded;
  }
  const std::string lists = "/lib/modules/" + kernel + "/";
  if (files.exists(folder) ||
      lists_module(files.text(lists + "modules.builtin", largest_list_bytes).value_or(""), module)) {
    return ModuleState::built_in;
  }
  // Without the lists the state is unknown: a built-in module without parameters has no folder in /sys/module.
  const auto loadable = files.text(lists + "modules.dep", largest_list_bytes);
  if (!loadable) {
    return ModuleState::unknown;
  }
  return lists_module(*loadable, module) ? ModuleState::loadable : ModuleState::absent;
}

RdmaFacts probe_rdma_files(const SystemFiles& files, const std::string& kernel) {
  RdmaFacts rdma;
  for (const std::string& name : files.names(class_folder)) {
    rdma.adapters.push_back(read_adapter(files, name));
  }
  rdma.dormant_cards = dormant_cards(files, kernel);
  for (const char* module : {"ib_core", "ib_uverbs", "rdma_cm", "rdma_ucm", "rdma_rxe"}) {
    rdma.modules.push_back({module, module_state(files, kernel, module)});
  }
  for (const std::string& name : files.names("/dev/infiniband")) {
    if (name.starts_with("uverbs") || name == "rdma_cm") {
      if (auto file = read_device_file(files, "/dev/infiniband/" + name)) {
        rdma.files.push_back(std::move(*file));
      }
    }
  }
  rdma.has_rdma_command = std::ranges::any_of(std::array{"/usr/sbin/rdma", "/sbin/rdma", "/usr/bin/rdma", "/bin/rdma"},
                                              [&](const char* path) { return files.exists(path); });
  return rdma;
}

void join_devices(RdmaFacts& rdma, std::vector<RdmaDevice> devices) {
  for (RdmaDevice& device : devices) {
    auto adapter = std::ranges::find(rdma.adapters, device.name, &RdmaAdapter::name);
    if (adapter == rdma.adapters.end()) {
      adapter = rdma.adapters.emplace(rdma.adapters.end());
      adapter->name = device.name;
    }
    adapter->device = std::move(device);
  }
}

void probe_rdma_devices(RdmaFacts& rdma) {
  try {
    join_devices(rdma, rdma_devices());
  } catch (const Error& error) {
    rdma.list_trouble = error.what();
  }
  if (!rdma.adapters.empty()) {
    rdma.manager_trouble = rdma_cm_trouble().value_or("");
  }
}

}  // namespace framewire
