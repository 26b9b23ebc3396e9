// One port of an RDMA device: what is in its way, and which of its addresses a connection has.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <optional>
#include <utility>

#include "base/text.hpp"
#include "command/shell_word.hpp"
#include "doctor/check.hpp"

namespace framewire {

namespace {

constexpr const char* area = "RDMA";

std::string address_command(const RdmaPortView& view) {
  return fmt::format("sudo ip address add 192.168.77.1/24 dev {}",
                     view.interface != nullptr ? shell_word(view.interface->name) : "INTERFACE");
}

/// InfiniBand's addresses come with IPoIB, which may not be there.
void explain_address(const RdmaPortView& view, Finding& finding) {
  finding.text = "rdma_cm finds a port by the address of its network interface. ";
  const bool is_infiniband = view.port->link_layer == RdmaLinkLayer::infiniband;
  if (is_infiniband && view.interface == nullptr) {
    finding.text +=
        "InfiniBand has one by IP over InfiniBand (ib_ipoib), in the network that this process has; a container needs "
        "the machine's (--network=host):";
    finding.remedy = {"sudo modprobe ib_ipoib",
                      "sudo ip address add 192.168.77.1/24 dev ib0   # whichever it is called"};
    return;
  }
  finding.text += fmt::format("{} needs one, on each machine another one of the same network:",
                              view.interface != nullptr ? view.interface->name : "That");
  finding.remedy = {address_command(view)};
}

/// What a fault means and how it is mended.
void explain(const RdmaPortView& view, Finding& finding) {
  switch (view.fault) {
    case PortFault::none:
      break;
    case PortFault::no_connections:
      finding.text =
          "framewire needs the reliable connections that InfiniBand, RoCE and iWARP have; here frames go by tcp.";
      break;
    case PortFault::no_queue_pair:
      finding.text =
          fmt::format("A session needs one, and there is {}. A low limit of locked memory is the usual reason.",
                      view.adapter->device->queue_pair_trouble);
      finding.remedy = {"sudo prlimit --memlock=unlimited --pid $$   # this shell, at once"};
      break;
    case PortFault::waits_for_subnet_manager:
      finding.text = "InfiniBand needs a subnet manager on one machine or switch of the fabric; here is one to run:";
      finding.remedy = {"sudo apt-get install opensm"};
      break;
    case PortFault::being_set_up:
      finding.text =
          "That takes a moment. If it stays so, the subnet manager's log says why, on the machine that runs it:";
      finding.remedy = {"sudo journalctl -u opensm -n 20"};
      break;
    case PortFault::down:
      if (view.base != nullptr && !view.base->is_up) {
        finding.text = fmt::format("Its network interface {} is down.", view.base->name);
        finding.remedy = {fmt::format("sudo ip link set dev {} up", shell_word(view.base->name))};
      } else {
        finding.text = "There is nothing at its other end: look at the cable and at the switch.";
      }
      break;
    case PortFault::no_gid:
    case PortFault::no_address:
      explain_address(view, finding);
      break;
    case PortFault::other_network:
      finding.text =
          "This process has another network than the device, as containers do. It needs that of the machine, or an "
          "interface of its own upon that of the device (macvlan) with an address:";
      finding.remedy = {"docker run --device=/dev/infiniband --network=host --ulimit memlock=-1 IMAGE"};
      break;
  }
}

/// fe80::/10, in the words of inet_ntop().
bool is_link_local(const std::string& address) {
  return address.starts_with("fe8") || address.starts_with("fe9") || address.starts_with("fea") ||
         address.starts_with("feb");
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
  } else if (is_link_local(view.address)) {
    finding.level = Level::note;
    finding.text = fmt::format(
        "It has no address but that of the link, {0}: a peer has to name its own interface with it ({0}%eth0). Better, "
        "on each machine another one of the same network:",
        view.address);
    finding.remedy = {address_command(view)};
  } else if (view.base != nullptr && port.active_mtu_bytes < std::min(port.max_mtu_bytes, 4096U) &&
             port.link_layer == RdmaLinkLayer::ethernet) {
    finding.level = Level::note;
    finding.text = fmt::format(
        "Packets of {} bytes cost more than those of 4096. Where switches and the other machine take jumbo frames:",
        port.active_mtu_bytes);
    finding.remedy = {fmt::format("sudo ip link set dev {} mtu 9000", shell_word(view.base->name))};
    if (view.interface != view.base) {
      finding.remedy.push_back(fmt::format("sudo ip link set dev {} mtu 9000", shell_word(view.interface->name)));
    }
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

/// 26 is what most write for RoCE (AF31); any of the same priority will do.
constexpr int usual_dscp = 26;

/// That what framewire sends goes where the port loses nothing: nothing where it has no such priority.
std::optional<Finding> priority_finding(const RdmaPortView& view) {
  if (view.base == nullptr || !view.base->priorities || view.base->priorities->lossless == 0) {
    return std::nullopt;
  }
  const InterfacePriorities& priorities = *view.base->priorities;
  const auto is_lossless = [&](std::uint8_t priority) { return (priorities.lossless >> priority & 1) != 0; };
  Finding finding{.area = area, .name = fmt::format("{} priorities", view.adapter->name)};
  for (std::uint8_t priority = 0; priority < 8; ++priority) {
    if (is_lossless(priority)) {
      finding.value += fmt::format("{}{}", finding.value.empty() ? "without loss (PFC): " : ", ", priority);
    }
  }
  const auto leading =
      std::ranges::find_if(priorities.dscp_to_priority, [&](const auto& one) { return is_lossless(one.second); });
  if (leading != priorities.dscp_to_priority.end()) {
    finding.text = fmt::format("DSCP {0} leads to priority {1}: give both ends --tos {2} (four times {0}).",
                               leading->first, leading->second, 4 * leading->first);
    return finding;
  }
  const int first = std::countr_zero(static_cast<unsigned>(priorities.lossless));
  finding.level = Level::note;
  finding.text = fmt::format(
      "No DSCP leads to priority {0}, so nothing that framewire sends goes there. At both ends, with a switch that "
      "does "
      "the same, and then --tos {1} for both programs:",
      first, 4 * usual_dscp);
  finding.remedy = {
      fmt::format("sudo dcb app add dev {} dscp-prio {}:{}", shell_word(view.base->name), usual_dscp, first)};
  return finding;
}

}  // namespace

Findings check_port(const RdmaPortView& view, Level fault_level) {
  Findings findings = {port_finding(view, fault_level)};
  // A GID of iWARP stands for the card, not for an address that a connection takes.
  const bool is_iwarp = view.adapter->device->transport == RdmaTransport::iwarp;
  if (view.gid != nullptr && !is_iwarp && (view.fault == PortFault::none || view.fault == PortFault::no_queue_pair)) {
    findings.push_back(gid_finding(view));
  }
  if (auto finding = priority_finding(view); finding && view.port->link_layer == RdmaLinkLayer::ethernet) {
    findings.push_back(std::move(*finding));
  }
  return findings;
}

}  // namespace framewire
