#include "doctor/check.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>

#include "command/shell_word.hpp"

namespace framewire {

namespace {

/// By the words of what was tried: what each is mended by. None where nobody knows.
std::vector<std::string> local_remedies(const std::string& trouble, const SystemFacts& system) {
  if (trouble.find("Operation not permitted") != std::string::npos && system.container == "docker") {
    return {"docker run --security-opt seccomp=unconfined IMAGE"};
  }
  return {};
}

std::vector<std::string> tcp_remedies(const std::string& trouble, const NetworkFacts& network) {
  const auto says = [&](const char* words) { return trouble.find(words) != std::string::npos; };
  const auto is_off = [](const NetworkInterface& one) { return one.is_loopback && !one.is_up; };
  const auto lo = std::ranges::find_if(network.interfaces, is_off);
  if (lo != network.interfaces.end()) {
    return {fmt::format("sudo ip link set dev {} up", shell_word(lo->name))};
  }
  if (says("assign requested address")) {
    return {"sudo ip address add 127.0.0.1/8 dev lo"};
  }
  if (says("did not arrive")) {
    return {"sudo nft insert rule inet filter input iif lo accept   # nftables"};
  }
  return {};
}

Finding link_finding(const char* link, const std::string& works_by, const std::string& trouble, bool is_wanted,
                     std::vector<std::string> remedies) {
  Finding finding{.area = "Links", .name = link, .value = works_by};
  if (!trouble.empty()) {
    finding.level = is_wanted ? Level::problem : Level::warning;
    finding.value = "does not work";
    finding.text = fmt::format("Trying it failed: {}.", trouble);
    const bool lacks_files = trouble.find("Too many open files") != std::string::npos;  // whichever link it is
    finding.remedy = lacks_files ? std::vector<std::string>{"ulimit -n \"$(ulimit -Hn)\""} : std::move(remedies);
  }
  return finding;
}

Finding rdma_link_finding(const UsableRdmaPort& rdma, bool is_wanted) {
  Finding finding{.area = "Links", .name = "rdma"};
  if (rdma.is_usable()) {
    const RdmaPortView& best = *rdma.best;
    finding.value = fmt::format("by {} port {}, {}", best.adapter->name, best.port->number, best.address);
    if (best.gigabits_per_second > 0) {
      finding.value += fmt::format(", {:g} Gb/s", best.gigabits_per_second);
    }
    return finding;
  }
  finding.level = is_wanted ? Level::problem : Level::note;
  finding.value = rdma.why_not;
  finding.text = is_wanted ? "It was asked for, and does not work; what is in its way stands below."
                           : "Frames between machines go by tcp.";
  return finding;
}

Finding key_finding(const KeyFacts& key) {
  Finding finding{.area = "This machine", .name = "key"};
  if (!key.trouble.empty()) {
    finding.level = Level::problem;
    finding.value = key.path.empty() ? "no home directory" : fmt::format("{}, mode {}", key.path, key.mode);
    finding.text = fmt::format("framewire's programs refuse it: {}.", key.trouble);
    if (key.is_own && key.mode.size() == 4 && !key.mode.ends_with("00")) {
      finding.remedy = {fmt::format("chmod 600 {}", shell_word(key.path))};
    } else if (key.exists && !key.is_own && !key.is_read_by_root) {  // root would take away what a user has
      finding.remedy = {fmt::format("sudo chown \"$(id -un)\" {}", shell_word(key.path)),
                        fmt::format("chmod 600 {}", shell_word(key.path))};
    }
  } else if (key.exists) {
    finding.value = fmt::format("{}, mode {}", key.path, key.mode);
  } else {
    finding.level = Level::note;
    finding.value = "none";
    finding.text = "Two machines know each other by a key that both have; on one machine none is needed.";
    finding.remedy = {"framewire key", "framewire key --export | ssh OTHER framewire key --import -"};
  }
  return finding;
}

Finding processor_finding(const SystemFacts& system) {
  Finding finding{.area = "This machine", .name = "processor"};
  finding.value = fmt::format("{} core{}", system.cores, system.cores == 1 ? "" : "s");
  if (system.governors.empty()) {
    return finding;
  }
  finding.value += fmt::format(", governor {}", fmt::join(system.governors, ", "));
  const auto saves = [](const std::string& governor) { return governor == "powersave" || governor == "conservative"; };
  if (std::ranges::any_of(system.governors, saves)) {
    finding.level = Level::note;
    finding.text = "Cores that save power wake up later, which shows as latency and as frames that come late.";
    finding.remedy = {"echo performance | sudo tee /sys/devices/system/cpu/cpu*/cpufreq/scaling_governor >/dev/null"};
  }
  return finding;
}

}  // namespace

WorkingLinks find_working_links(const MachineFacts& machine) {
  return {.local = machine.links.local_trouble.empty(),
          .tcp = machine.links.tcp_trouble.empty(),
          .rdma = find_usable_rdma_port(machine, can_lock(machine.memory, memlock_requirement().viewer_bytes))};
}

Level rdma_fault_level(const MachineFacts& machine, std::optional<LinkKind> wanted, const WorkingLinks& works) {
  if (works.rdma.is_usable()) {
    return Level::note;
  }
  if (wanted == LinkKind::rdma) {
    return Level::problem;
  }
  return machine.rdma.adapters.empty() ? Level::note : Level::warning;
}

Findings check_links(const MachineFacts& machine, std::optional<LinkKind> wanted, const WorkingLinks& works) {
  // Where nothing is asked for, one link that works is enough.
  const bool is_stuck = !wanted && !works.local && !works.tcp && !works.rdma.is_usable();
  Findings findings;
  findings.push_back(link_finding("local", "shared memory works", machine.links.local_trouble,
                                  wanted == LinkKind::local || is_stuck,
                                  local_remedies(machine.links.local_trouble, machine.system)));
  findings.push_back(link_finding("tcp", "a connection through 127.0.0.1 works", machine.links.tcp_trouble,
                                  wanted == LinkKind::tcp || is_stuck,
                                  tcp_remedies(machine.links.tcp_trouble, machine.network)));
  findings.push_back(rdma_link_finding(works.rdma, wanted == LinkKind::rdma));
  return findings;
}

Findings check_system(const SystemFacts& system, const KeyFacts& key) {
  Findings findings;
  std::string name = fmt::format("Linux {}", system.kernel);
  if (!system.distribution.empty()) {
    name += ", " + system.distribution;
  }
  findings.push_back({.area = "This machine", .name = "system", .value = name});
  if (!system.container.empty()) {
    findings.push_back({.area = "This machine",
                        .name = "container",
                        .value = system.container,
                        .text = "Device files and limits are those that the container was given."});
  }
  findings.push_back(processor_finding(system));
  Finding programs{.area = "This machine", .name = "programs"};
  programs.value = system.programs_beside.empty() ? "none beside this one"
                                                  : fmt::format("{}", fmt::join(system.programs_beside, ", "));
  if (system.programs_beside.size() < 4) {
    programs.level = Level::note;
    programs.text = "Not all of framewire is installed here, and what is missing is not looked at; in its source tree:";
    programs.remedy = {"scripts/package && sudo apt-get install ./build/packages/*.deb"};
  }
  findings.push_back(std::move(programs));
  findings.push_back(key_finding(key));
  return findings;
}

Findings check_machine(const MachineFacts& machine, std::optional<LinkKind> wanted) {
  const WorkingLinks works = find_working_links(machine);
  const Level fault_level = rdma_fault_level(machine, wanted, works);
  Findings all;
  const auto add = [&](Findings area) { std::ranges::move(area, std::back_inserter(all)); };
  add(check_links(machine, wanted, works));
  add(check_rdma(machine, fault_level));
  add(check_memory(machine, fault_level));
  add(check_gpu(machine));
  add(check_network(machine.network));
  add(check_system(machine.system, machine.key));
  return all;
}

}  // namespace framewire
