// One port of an RDMA device: what is in its way, and which of its addresses a connection has.
#include <fmt/format.h>

#include <algorithm>

#include "base/text.hpp"
#include "doctor/judge.hpp"

namespace framewire {

namespace {

constexpr const char* area = "RDMA";

/// What a fault means and how it is mended.
void explain(const RdmaPortView& view, Finding& finding) {
  const std::string interface = view.interface != nullptr ? view.interface->name : "INTERFACE";
  switch (view.fault) {
    case PortFault::none:
      break;
    case PortFault::no_write_with_immediate:
      finding.text =
          "framewire announces frames by RDMA writes with immediate, which iWARP does not have: here they go by tcp.";
      break;
    case PortFault::no_queue_pair:
      finding.text =
          fmt::format("A session needs one, and there is {}. A low limit of locked memory is the usual reason.",
                      view.adapter->device->queue_pair_trouble);
      break;
    case PortFault::waits_for_subnet_manager:
      finding.text = "InfiniBand needs a subnet manager on one machine or switch of the fabric; here is one to run:";
      finding.fix = {"sudo apt-get install opensm"};
      break;
    case PortFault::down:
      if (view.interface != nullptr && !view.interface->is_up) {
        finding.text = fmt::format("Its network interface {} is down.", interface);
        finding.fix = {fmt::format("sudo ip link set dev {} up", interface)};
      } else {
        finding.text = "There is nothing at its other end: look at the cable and at the switch.";
      }
      break;
    case PortFault::no_gid:
    case PortFault::no_address:
      finding.text = fmt::format(
          "rdma_cm finds a port by the address of its network interface, and a link-local one is "
          "not enough. {} needs an address, on each machine another one of the same network:",
          interface);
      finding.fix = {fmt::format("sudo ip address add 192.168.77.1/24 dev {}", interface)};
      break;
  }
}

Finding port_finding(const RdmaPortView& view, Level fault_level) {
  const RdmaPort& port = *view.port;
  Finding finding{.area = area, .name = fmt::format("{} port {}", view.adapter->name, port.number)};
  finding.value = fmt::format("{}, {}", name(port.state), name(port.link_layer));
  if (view.gigabits_per_second > 0) {
    finding.value += fmt::format(", {:g} Gb/s", view.gigabits_per_second);
  }
  finding.value += fmt::format(", MTU {}", port.active_mtu_bytes);
  if (view.interface != nullptr) {
    finding.value += fmt::format(", {}", view.interface->name);
  }
  finding.details.push_back(fmt::format("messages up to {}", format_bytes(port.max_message_bytes)));
  if (view.fault != PortFault::none) {
    finding.level = fault_level;
    explain(view, finding);
  } else if (view.interface != nullptr && port.active_mtu_bytes < std::min(port.max_mtu_bytes, 4096U) &&
             port.link_layer == RdmaLinkLayer::ethernet) {
    finding.level = Level::note;
    finding.text = fmt::format(
        "Packets of {} bytes cost more than those of 4096. Where switches and the other machine take jumbo frames:",
        port.active_mtu_bytes);
    finding.fix = {fmt::format("sudo ip link set dev {} mtu 9000", view.interface->name)};
  }
  return finding;
}

Finding gid_finding(const RdmaPortView& view) {
  Finding finding{.area = area, .name = fmt::format("{} GID", view.adapter->name)};
  const RdmaGid& best = *view.gid;
  finding.value =
      fmt::format("{}, {}, index {} of {}", best.address, name(best.kind), best.index, view.port->gids.size());
  finding.text = "rdma_cm takes the GID of the address that is dialled; of several, an IPv4 one and RoCE v2 are best.";
  for (const RdmaGid& gid : view.port->gids) {
    finding.details.push_back(
        fmt::format("{:>3}  {:<7}  {:<10}  {}", gid.index, name(gid.kind), name(gid.scope), gid.address));
  }
  if (best.kind == GidKind::roce_v1) {
    finding.level = Level::note;
    finding.text = "RoCE v1 only: it does not pass routers, and some switches drop it.";
  }
  return finding;
}

}  // namespace

Findings judge_port(const RdmaPortView& view, Level fault_level) {
  Findings findings = {port_finding(view, fault_level)};
  if (view.gid != nullptr && (view.fault == PortFault::none || view.fault == PortFault::no_queue_pair)) {
    findings.push_back(gid_finding(view));
  }
  return findings;
}

}  // namespace framewire
