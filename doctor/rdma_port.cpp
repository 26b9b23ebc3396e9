#include "doctor/rdma_port.hpp"

#include <algorithm>
#include <span>

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

/// As rdma_cm answers, since that is what the programs ask. Of a port that it finds by no address the GIDs say more:
/// they are those of the device's network, whichever this process's is.
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

/// Of several that a port is found by, the one of its best GID; a GID of InfiniBand or iWARP is no address.
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

/// The interface that has the address: it may be a VLAN or a bond upon `base`. Where no address is known, that of the
/// best GID; where that has none, `base`.
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
  if (view.fault != PortFault::other_network) {  // which may have the same names and numbers
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

}  // namespace framewire
