#include "doctor/rdma_port.hpp"

#include <algorithm>

namespace framewire {

namespace {

PortFault fault_of(const RdmaPortView& view) {
  const RdmaDevice& device = *view.adapter->device;
  const bool is_ethernet = view.port->link_layer == RdmaLinkLayer::ethernet;
  if (device.transport != RdmaTransport::infiniband) {
    return PortFault::no_write_with_immediate;
  }
  if (view.port->state != RdmaPortState::active) {
    const bool waits = !is_ethernet && view.port->state == RdmaPortState::init;
    return waits ? PortFault::waits_for_subnet_manager : PortFault::down;
  }
  if (view.gid == nullptr) {
    return PortFault::no_gid;
  }
  const bool is_far = is_ethernet && view.gid->scope == GidScope::link_local;
  if (is_far || (view.interface != nullptr && view.interface->addresses.empty())) {
    return PortFault::no_address;
  }
  return device.queue_pair_trouble.empty() ? PortFault::none : PortFault::no_queue_pair;
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
  const auto place = std::ranges::find(adapter.ports, port.number, &RdmaPortPlace::number);
  if (place != adapter.ports.end()) {
    view.gigabits_per_second = place->gigabits_per_second;
    const auto interface = std::ranges::find(network.interfaces, place->interface, &NetworkInterface::name);
    view.interface = interface == network.interfaces.end() ? nullptr : &*interface;
  }
  if (const auto best = best_gid(port.gids)) {
    view.gid = &port.gids.at(*best);
  }
  view.fault = fault_of(view);
  return view;
}

std::string describe(PortFault fault) {
  switch (fault) {
    case PortFault::none:
      return "";
    case PortFault::no_write_with_immediate:
      return "its kind of device has no RDMA write with immediate";
    case PortFault::no_queue_pair:
      return "no queue pair can be made on it";
    case PortFault::waits_for_subnet_manager:
      return "it waits for a subnet manager";
    case PortFault::down:
      return "it is down";
    case PortFault::no_gid:
      return "it has no GID";
    case PortFault::no_address:
      return "its network interface has no address";
  }
  return "";
}

RdmaVerdict judge_rdma_use(const MachineFacts& machine, bool lock_is_enough) {
  const RdmaFacts& rdma = machine.rdma;
  RdmaVerdict verdict;
  verdict.why_not = rdma.list_trouble.empty() ? "no RDMA device" : rdma.list_trouble;
  for (const RdmaAdapter& adapter : rdma.adapters) {
    verdict.why_not = adapter_fault(adapter);
    if (!verdict.why_not.empty()) {
      continue;
    }
    for (const RdmaPort& port : adapter.device->ports) {
      const RdmaPortView view = view_port(adapter, port, machine.network);
      if (view.fault != PortFault::none) {
        verdict.why_not = adapter.name + " port " + std::to_string(port.number) + ": " + describe(view.fault);
      } else if (!verdict.best || view.gigabits_per_second > verdict.best->gigabits_per_second) {
        verdict.best = view;
      }
    }
  }
  if (verdict.best && !rdma.manager_trouble.empty()) {
    verdict.best.reset();
    verdict.why_not = "rdma_cm cannot make connections: " + rdma.manager_trouble;
  } else if (verdict.best && !lock_is_enough) {
    verdict.best.reset();
    verdict.why_not = "the limit of locked memory is too low";
  }
  return verdict;
}

}  // namespace framewire
