// RDMA devices and what must stand around them.
#include <fmt/format.h>

#include <algorithm>
#include <initializer_list>
#include <iterator>
#include <tuple>

#include "base/text.hpp"
#include "command/shell_word.hpp"
#include "doctor/check.hpp"

namespace framewire {

namespace {

constexpr const char* area = "RDMA";
/// Drivers without a limit of their own name the largest number, or close to it.
constexpr std::uint64_t endless_bytes = std::uint64_t{1} << 60;

const KernelModule* find_module(const RdmaFacts& rdma, std::string_view name) {
  const auto found = std::ranges::find(rdma.modules, name, &KernelModule::name);
  return found == rdma.modules.end() ? nullptr : &*found;
}

/// The commands that load those of the modules that can be loaded.
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

/// The Ethernet interface that Soft-RoCE would best stand on; empty when there is none. Bridges of containers and the
/// like have addresses, too, but lead nowhere that another machine is: a link, a card and the way to everywhere speak
/// for one, in this order.
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

Finding no_device_finding(const MachineFacts& machine, Level fault_level) {
  Finding finding{.area = area, .name = "devices", .level = std::max(fault_level, Level::note), .value = "none"};
  const KernelModule* soft = find_module(machine.rdma, "rdma_rxe");
  const std::string interface = interface_for_soft_roce(machine.network);
  if (!machine.rdma.list_trouble.empty()) {
    finding.text = machine.rdma.list_trouble + ".";
  } else if (soft == nullptr || soft->state == ModuleState::unknown) {
    finding.text = "Whether this kernel has Soft-RoCE (module rdma_rxe) to try RDMA without a card does not show here.";
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
    finding.remedy.push_back(fmt::format("sudo rdma link add rxe0 type rxe netdev {}", shell_word(interface)));
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
      finding.text = "This network card can do RDMA; whether the driver for that is loaded does not show here.";
      break;
    case ModuleState::loaded:
    case ModuleState::built_in:
      finding.value = fmt::format("{} with {} and {}, without a device", card.address, card.driver, card.module);
      finding.text =
          "The driver for RDMA is there, but has made no device of this network card: its model may have no RDMA, or "
          "its "
          "settings may switch that off.";
      break;
  }
  return finding;
}

/// Devices that verbs list and open have come through both modules, whatever shows of these.
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
    finding.text = "The kernel has it; the library's part for this kind of device is missing, or the device files are.";
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
      fmt::format("queues of {}, completion queues of {}, {} pieces per request", device.max_work_requests,
                  device.max_completions, device.max_scatter_entries),
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
  if (adapter.numa_node) {
    finding.details.push_back(fmt::format("NUMA node {}: programs are best kept there (numactl --cpunodebind={} …)",
                                          *adapter.numa_node, *adapter.numa_node));
  }
  if (!device.has_memory_windows && device.transport != RdmaTransport::other) {
    finding.level = Level::note;
    finding.text = "It has no memory windows of type 2B: a viewer's ring is protected by its registration alone.";
  }
  return finding;
}

/// A port that carries nothing harms nobody where another one is fine: the most grave a fault of a port can be.
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

}  // namespace framewire
