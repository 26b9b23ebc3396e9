// The findings about RDMA: modules and device files, adapters, and each port.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <initializer_list>
#include <iterator>
#include <optional>
#include <tuple>
#include <utility>

#include "base/text.hpp"
#include "command/shell_word.hpp"
#include "doctor/check.hpp"

namespace framewire {

namespace {

constexpr const char* area = "RDMA";
/// Drivers without a limit report the largest number, or one close to it.
constexpr std::uint64_t endless_bytes = std::uint64_t{1} << 60;

const KernelModule* find_module(const RdmaFacts& rdma, std::string_view name) {
  const auto found = std::ranges::find(rdma.modules, name, &KernelModule::name);
  return found == rdma.modules.end() ? nullptr : &*found;
}

/// The commands that load the loadable ones of these modules.
std::vector<std::string> load_commands(const RdmaFacts& rdma, std::initializer_list<std::string_view> names) {
  std::vector<std::string> commands;
  for (const std::string_view name : names) {
    const KernelModule* module = find_module(rdma, name);
    if (module != nullptr && module->state == ModuleState::loadable) {
      commands.push_back(fmt::format("sudo modprobe {}", name));
    }
  }
  return commands;
}

/// The best Ethernet interface for Soft-RoCE; empty if there is none. Container bridges also have addresses, but lead
/// to no other machine. So prefer an interface with a carrier, then one with hardware, then one with a default route.
std::string interface_for_soft_roce(const NetworkFacts& network) {
  const NetworkInterface* best = nullptr;
  const auto rank = [](const NetworkInterface& one) {
    return std::tuple(one.has_carrier, one.has_card, one.has_default_route);
  };
  for (const NetworkInterface& one : network.interfaces) {
    const bool fits = one.is_ethernet && one.is_up && !one.addresses.empty();
    if (fits && (best == nullptr || rank(one) > rank(*best))) {
      best = &one;
    }
  }
  return best == nullptr ? "" : best->name;
}

std::string add_soft_roce(const std::string& interface) {
  return fmt::format("sudo rdma link add rxe0 type rxe netdev {}", shell_word(interface));
}

Finding no_device_finding(const MachineFacts& machine, Level fault_level) {
  Finding finding{.area = area, .name = "devices", .level = std::max(fault_level, Level::note), .value = "none"};
  const KernelModule* soft = find_module(machine.rdma, "rdma_rxe");
  const std::string interface = interface_for_soft_roce(machine.network);
  if (!machine.rdma.list_trouble.empty()) {
    finding.text = machine.rdma.list_trouble + ".";
  } else if (soft == nullptr || soft->state == ModuleState::unknown) {
    finding.text =
        "It does not show here whether this kernel has Soft-RoCE (module rdma_rxe), which needs no card. To try it:";
    finding.remedy = {"sudo modprobe rdma_rxe"};
    if (!interface.empty()) {
      finding.remedy.push_back(add_soft_roce(interface));
    }
  } else if (soft->state == ModuleState::absent) {
    finding.text = "This kernel has no Soft-RoCE (module rdma_rxe) to try RDMA without a card, either.";
  } else if (interface.empty()) {
    finding.text = "Soft-RoCE could do RDMA without a card, slowly, over any Ethernet interface with an address.";
  } else {
    finding.text = "Soft-RoCE does RDMA without a card, slowly, over any Ethernet interface:";
    if (!machine.rdma.has_rdma_command) {
      finding.remedy.emplace_back("sudo apt-get install iproute2");
    }
    std::ranges::move(load_commands(machine.rdma, {"rdma_rxe"}), std::back_inserter(finding.remedy));
    finding.remedy.push_back(add_soft_roce(interface));
  }
  return finding;
}

Finding dormant_finding(const DormantCard& card) {
  Finding finding{.area = area, .name = "card", .level = Level::note};
  finding.value = fmt::format("{} with {}, without {}", card.address, card.driver, card.module);
  switch (card.state) {
    case ModuleState::loadable:
      finding.level = Level::warning;
      finding.text = "This network card can do RDMA; the driver for that is not loaded.";
      finding.remedy = {fmt::format("sudo modprobe {}", card.module)};
      break;
    case ModuleState::absent:
      finding.text = "This network card can do RDMA; this kernel does not have the driver for that.";
      break;
    case ModuleState::unknown:
      finding.text = "This network card can do RDMA; it does not show here whether its driver is loaded.";
      break;
    case ModuleState::loaded:
    case ModuleState::built_in:
      finding.value = fmt::format("{} with {} and {}, without a device", card.address, card.driver, card.module);
      finding.text =
          "The RDMA driver is loaded, but made no device of this card: the model has no RDMA, or its settings disable "
          "it.";
      break;
  }
  return finding;
}

/// If verbs list and open a device, both modules work, whatever the list of modules says.
Findings check_modules(const RdmaFacts& rdma, Level fault_level) {
  Findings findings;
  const auto works = [](const RdmaAdapter& one) { return one.device && one.device->trouble.empty(); };
  const bool has_proof = std::ranges::any_of(rdma.adapters, works) && rdma.manager_trouble.empty();
  for (const char* name : {"ib_uverbs", "rdma_ucm"}) {
    const KernelModule* module = find_module(rdma, name);
    const ModuleState state = module != nullptr ? module->state : ModuleState::unknown;
    const bool is_missing = state == ModuleState::loadable || state == ModuleState::absent;
    if (has_proof || !is_missing) {
      continue;
    }
    Finding finding{.area = area,
                    .name = fmt::format("module {}", name),
                    .level = std::max(fault_level, Level::warning),
                    .value = "not in this kernel",
                    .text = "Programs reach RDMA devices through it."};
    if (state == ModuleState::loadable) {
      finding.value = "not loaded";
      finding.remedy = {fmt::format("sudo modprobe {}", name),
                        fmt::format("echo {} | sudo tee -a /etc/modules-load.d/framewire.conf", name)};
    }
    findings.push_back(std::move(finding));
  }
  if (findings.empty() && has_proof) {
    findings.push_back({.area = area, .name = "modules", .value = "ib_uverbs and rdma_ucm are there"});
  }
  return findings;
}

Finding files_finding(const MachineFacts& machine, Level fault_level) {
  const RdmaFacts& rdma = machine.rdma;
  Finding finding{.area = area, .name = "device files"};
  if (rdma.files.empty()) {
    finding.level = std::max(fault_level, Level::warning);
    finding.value = "no /dev/infiniband";
    finding.text = "The kernel has RDMA devices, but this process has no files for them.";
    if (!machine.system.container.empty()) {
      finding.text += " A container has to be given them:";
      finding.remedy = {"docker run --device=/dev/infiniband --network=host --ulimit memlock=-1 IMAGE"};
    } else {
      finding.remedy = load_commands(rdma, {"ib_uverbs", "rdma_ucm"});
    }
    return finding;
  }
  std::string closed;
  for (const DeviceFile& file : rdma.files) {
    const std::string name = file.path.substr(file.path.rfind('/') + 1);
    finding.value += fmt::format("{}{} ({})", finding.value.empty() ? "" : ", ", name, file.mode);
    closed += file.is_usable ? "" : " " + file.path;
  }
  if (!closed.empty()) {
    finding.level = std::max(fault_level, Level::warning);
    finding.text = fmt::format("This user may not read and write{}.", closed);
    finding.remedy = {
        fmt::format("sudo chmod 666{}   # until the next start", closed),
        "echo 'KERNEL==\"uverbs*|rdma_cm\", MODE=\"0666\"' | sudo tee /etc/udev/rules.d/90-framewire.rules"};
  }
  return finding;
}

Finding adapter_finding(const RdmaAdapter& adapter, Level fault_level) {
  Finding finding{.area = area, .name = adapter.name};
  if (!adapter.device) {
    finding.level = std::max(fault_level, Level::warning);
    finding.value = "not listed by libibverbs";
    finding.text = "The kernel has it, but the library's driver for it or the device files are missing.";
    finding.remedy = {"sudo apt-get install ibverbs-providers"};
    return finding;
  }
  const RdmaDevice& device = *adapter.device;
  if (!device.trouble.empty()) {
    finding.level = std::max(fault_level, Level::warning);
    finding.value = device.trouble;
    finding.text = "Device files that this user may not open are the usual reason; the kernel's own words:";
    finding.remedy = {fmt::format("sudo dmesg | grep -i -e rdma -e infiniband -e {}",
                                  shell_word(adapter.driver.empty() ? adapter.name : adapter.driver))};
    return finding;
  }
  finding.value = fmt::format("{}{}{}", adapter.driver.empty() ? "in software" : adapter.driver,
                              adapter.board.empty() ? "" : ", " + adapter.board,
                              device.firmware.empty() || adapter.driver.empty() ? "" : ", firmware " + device.firmware);
  finding.details = {
      fmt::format("queues of {}, completion queues of {}, {} scatter/gather entries per request",
                  device.max_work_requests, device.max_completions, device.max_scatter_entries),
      fmt::format("{} in a request itself, memory regions {}",
                  device.inline_bytes ? fmt::format("{} bytes", *device.inline_bytes) : "not known how much",
                  device.max_registration_bytes >= endless_bytes
                      ? "of any size"
                      : "up to " + format_bytes(device.max_registration_bytes)),
      fmt::format("memory windows (2B): {}, on-demand paging: {}, dma-buf: {}",
                  device.has_memory_windows ? "yes (ring=window)" : "no (ring=registration)",
                  device.has_on_demand_paging ? "yes" : "no",
                  !device.takes_dma_buf   ? "not known"
                  : *device.takes_dma_buf ? "yes"
                                          : "no")};
  const DataDirect& data_direct = device.data_direct;
  finding.details.push_back(data_direct.path.empty() ? "no data-direct: " + data_direct.why_not
                                                     : "data-direct at " + data_direct.path);
  if (adapter.numa_node) {
    finding.details.push_back(fmt::format("NUMA node {}: programs are best kept there (numactl --cpunodebind={} …)",
                                          *adapter.numa_node, *adapter.numa_node));
  }
  if (!device.has_memory_windows && device.transport != RdmaTransport::other) {
    finding.level = Level::note;
    finding.text = "It has no memory windows of type 2B, so only the registration protects a viewer's ring.";
  }
  return finding;
}

/// The highest level for a fault of one port: only a note if another port works.
Level port_fault_level(const MachineFacts& machine, Level fault_level) {
  const auto has_good_port = [&](const RdmaAdapter& adapter) {
    return adapter.device && std::ranges::any_of(adapter.device->ports, [&](const RdmaPort& port) {
             return view_port(adapter, port, machine.network).fault == PortFault::none;
           });
  };
  return std::ranges::any_of(machine.rdma.adapters, has_good_port) ? Level::note : fault_level;
}

Findings check_adapter(const MachineFacts& machine, const RdmaAdapter& adapter, Level fault_level) {
  Findings findings = {adapter_finding(adapter, fault_level)};
  if (adapter.device) {
    for (const RdmaPort& port : adapter.device->ports) {
      const RdmaPortView view = view_port(adapter, port, machine.network);
      std::ranges::move(check_port(view, port_fault_level(machine, fault_level)), std::back_inserter(findings));
    }
  }
  std::ranges::move(check_pci(adapter, machine.rdma), std::back_inserter(findings));
  return findings;
}

}  // namespace

Findings check_rdma(const MachineFacts& machine, Level fault_level) {
  const RdmaFacts& rdma = machine.rdma;
  Findings findings;
  std::ranges::transform(rdma.dormant_cards, std::back_inserter(findings), dormant_finding);
  if (rdma.adapters.empty()) {
    findings.push_back(no_device_finding(machine, fault_level));
    return findings;
  }
  std::ranges::move(check_modules(rdma, fault_level), std::back_inserter(findings));
  findings.push_back(files_finding(machine, fault_level));
  if (!rdma.manager_trouble.empty()) {
    findings.push_back({.area = area,
                        .name = "rdma_cm",
                        .level = std::max(fault_level, Level::warning),
                        .value = rdma.manager_trouble,
                        .text = "It makes the connections of the RDMA link.",
                        .remedy = load_commands(rdma, {"rdma_ucm"})});
  }
  for (const RdmaAdapter& adapter : rdma.adapters) {
    std::ranges::move(check_adapter(machine, adapter, fault_level), std::back_inserter(findings));
  }
  return findings;
}

// ---- One port of an RDMA device: its fault, and the address that a connection uses ----

namespace {

std::string address_command(const RdmaPortView& view) {
  return fmt::format("sudo ip address add 192.168.77.1/24 dev {}",
                     view.interface != nullptr ? shell_word(view.interface->name) : "INTERFACE");
}

/// InfiniBand ports get addresses from IPoIB, which may not be set up.
void explain_address(const RdmaPortView& view, Finding& finding) {
  finding.text = "rdma_cm finds a port by the address of its network interface. ";
  const bool is_infiniband = view.port->link_layer == RdmaLinkLayer::infiniband;
  if (is_infiniband && view.interface == nullptr) {
    finding.text +=
        "InfiniBand gets one from IP over InfiniBand (ib_ipoib). A container needs the machine's network "
        "(--network=host):";
    finding.remedy = {"sudo modprobe ib_ipoib",
                      "sudo ip address add 192.168.77.1/24 dev ib0   # whichever it is called"};
    return;
  }
  finding.text += fmt::format("{} needs one, on each machine another one of the same network:",
                              view.interface != nullptr ? view.interface->name : "That");
  finding.remedy = {address_command(view)};
}

/// Sets the meaning of the fault and its remedy.
void explain(const RdmaPortView& view, Finding& finding) {
  switch (view.fault) {
    case PortFault::none:
      break;
    case PortFault::no_connections:
      finding.text =
          "framewire needs the reliable connections that InfiniBand, RoCE and iWARP have; here frames go by tcp.";
      break;
    case PortFault::no_queue_pair:
      finding.text = fmt::format("A session needs one ({}). The limit of locked memory is usually too low.",
                                 view.adapter->device->queue_pair_trouble);
      finding.remedy = {"sudo prlimit --memlock=unlimited --pid $$   # this shell, at once"};
      break;
    case PortFault::waits_for_subnet_manager:
      finding.text = "InfiniBand needs a subnet manager on one machine or switch. To run one here:";
      finding.remedy = {"sudo apt-get install opensm"};
      break;
    case PortFault::being_set_up:
      finding.text = "This takes a moment. If it lasts, read the subnet manager's log on the machine that runs it:";
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
          "This process is in another network namespace than the device, as in a container. Give it the machine's "
          "network, or a macvlan interface with an address:";
      finding.remedy = {"docker run --device=/dev/infiniband --network=host --ulimit memlock=-1 IMAGE"};
      break;
  }
}

/// fe80::/10, as inet_ntop() prints it.
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
        "It has only the link-local address {0}, which peers must dial with their interface ({0}%eth0). Better give "
        "each machine an address of one network:",
        view.address);
    finding.remedy = {address_command(view)};
  } else if (view.base != nullptr && port.active_mtu_bytes < std::min(port.max_mtu_bytes, 4096U) &&
             port.link_layer == RdmaLinkLayer::ethernet) {
    finding.level = Level::note;
    finding.text = fmt::format(
        "Packets of 4096 bytes cost less than these of {}. If the switches and the other machine take jumbo frames:",
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
  finding.text = "rdma_cm takes the GID of the dialled address; an IPv4 address and RoCE v2 are best.";
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

/// 26 (AF31) is usual for RoCE; any DSCP of the same priority works.
constexpr int usual_dscp = 26;

/// Whether framewire's packets use a lossless priority of the port. Nothing if the port has none.
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
      "No DSCP leads to priority {0}, so framewire's packets do not use it. Run this at both ends and set the switch "
      "alike; then start both with --tos {1}:",
      first, 4 * usual_dscp);
  finding.remedy = {
      fmt::format("sudo dcb app add dev {} dscp-prio {}:{}", shell_word(view.base->name), usual_dscp, first)};
  return finding;
}

}  // namespace

Findings check_port(const RdmaPortView& view, Level fault_level) {
  Findings findings = {port_finding(view, fault_level)};
  // An iWARP GID identifies the card and is not an address.
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
