// The findings about this machine: links and key, system, memory, OpenGL and CUDA.
#include "doctor/check.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>

#include "base/text.hpp"
#include "command/shell_word.hpp"
#include "doctor/gpu_access.hpp"
#include "frame/frame_layout.hpp"
#include "transport/pool.hpp"

namespace framewire {

namespace {

/// The commands that fix a failed trial, selected by its error text; none if no command is known.
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
    const bool lacks_files = trouble.find("Too many open files") != std::string::npos;  // the same for every link
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
  finding.text = is_wanted ? "It was asked for and does not work; the findings below say why."
                           : "Frames between machines go by tcp.";
  return finding;
}

Finding other_link_finding(const OtherLink& link, bool is_wanted) {
  Finding finding{.area = "Links", .name = std::string(name(link.link)), .value = "available, not tried"};
  if (!link.missing.empty()) {
    finding.level = is_wanted ? Level::problem : Level::note;
    finding.value = link.missing;
    finding.text = is_wanted ? "It was asked for, and this machine lacks what it needs." : "Frames go by another link.";
  }
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
    } else if (key.exists && !key.is_own && !key.is_read_by_root) {  // as root, chown would take it from its user
      finding.remedy = {fmt::format("sudo chown \"$(id -un)\" {}", shell_word(key.path)),
                        fmt::format("chmod 600 {}", shell_word(key.path))};
    }
  } else if (key.exists) {
    finding.value = fmt::format("{}, mode {}", key.path, key.mode);
  } else {
    finding.level = Level::note;
    finding.value = "none";
    finding.text = "Two machines need the same key; programs on one machine need none.";
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
    finding.text = "Cores that save power wake up later: latency rises, and frames come late.";
    finding.remedy = {"echo performance | sudo tee /sys/devices/system/cpu/cpu*/cpufreq/scaling_governor >/dev/null"};
  }
  return finding;
}

}  // namespace

WorkingLinks find_working_links(const MachineFacts& machine) {
  WorkingLinks works{
      .local = machine.links.local_trouble.empty(),
      .tcp = machine.links.tcp_trouble.empty(),
      .rdma = find_usable_rdma_port(machine, can_lock(machine.memory, memlock_requirement().viewer_bytes))};
  for (const OtherLink& other : machine.links.others) {
    if (other.missing.empty()) {
      works.others.push_back(other.link);
    }
  }
  return works;
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
  // Without --transport one working link is enough.
  const bool is_stuck = !wanted && !works.is_any();
  Findings findings;
  findings.push_back(link_finding("local", "shared memory works", machine.links.local_trouble,
                                  wanted == LinkKind::local || is_stuck,
                                  local_remedies(machine.links.local_trouble, machine.system)));
  findings.push_back(link_finding("tcp", "a connection through 127.0.0.1 works", machine.links.tcp_trouble,
                                  wanted == LinkKind::tcp || is_stuck,
                                  tcp_remedies(machine.links.tcp_trouble, machine.network)));
  findings.push_back(rdma_link_finding(works.rdma, wanted == LinkKind::rdma));
  for (const OtherLink& other : machine.links.others) {
    findings.push_back(other_link_finding(other, wanted == other.link));
  }
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
  if (system.programs_beside.size() < programs_wanted.size()) {
    programs.level = Level::note;
    programs.text = "Some programs of framewire are not installed here, and were not checked. In its source tree run:";
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

// ---- Memory: enough, lockable, in huge pages ----

namespace {

constexpr const char* memory_area = "Memory";
// The defaults of framewire send.
constexpr std::uint32_t default_slots = 3;
constexpr std::uint32_t default_viewers = 4;

std::string limit_text(std::optional<std::uint64_t> bytes) {
  return bytes ? format_bytes(*bytes) : "unlimited";
}

std::string need_text(const MemlockRequirement& need) {
  return fmt::format(
      "4K rgba takes {} at a sender (--viewers {} x --slots {} + 4 frames, and {} for a decoder) and {} at a "
      "viewer",
      format_bytes(need.sender_bytes), default_viewers, default_slots, max_extra_slots,
      format_bytes(need.viewer_bytes));
}

Finding memory_finding(const MemoryFacts& memory, const MemlockRequirement& need) {
  const std::uint64_t available =
      std::min(memory.available_bytes.value_or(UINT64_MAX), memory.group_free_bytes.value_or(UINT64_MAX));
  Finding finding{.area = memory_area, .name = "memory"};
  finding.value =
      memory.available_bytes && memory.total_bytes
          ? fmt::format("{} free of {}", format_bytes(*memory.available_bytes), format_bytes(*memory.total_bytes))
          : std::string("not known");
  if (memory.group_limit_bytes && *memory.group_limit_bytes < memory.total_bytes.value_or(UINT64_MAX)) {
    finding.value += fmt::format(", {} of {} for this control group", format_bytes(memory.group_free_bytes.value_or(0)),
                                 format_bytes(*memory.group_limit_bytes));
  }
  finding.text = need_text(need) + ".";
  if (available < need.sender_bytes) {
    finding.level = available < need.viewer_bytes ? Level::warning : Level::note;
    finding.text += " Smaller pictures, fewer viewers or fewer slots need less.";
    finding.remedy = {"framewire send --size 1920x1080 --viewers 1 SOURCE"};
  }
  return finding;
}

/// The commands that raise the limit: for one shell, for all logins, and for a service.
std::vector<std::string> lock_remedies(const MemoryFacts& memory, std::uint64_t bytes) {
  const bool may_raise = !memory.lock_hard_bytes || *memory.lock_hard_bytes >= bytes;
  const std::string now = may_raise
                              ? fmt::format("ulimit -l {}", memory.lock_hard_bytes ? "$(ulimit -H -l)" : "unlimited")
                              : std::string("sudo prlimit --memlock=unlimited --pid $$");
  return {now + "   # this shell, at once",
          "echo '* - memlock unlimited' | sudo tee /etc/security/limits.d/90-framewire.conf   # every login from the "
          "next on",
          // A user's services inherit the limit of the user's manager; their own setting cannot exceed it.
          "printf '[Service]\\nLimitMEMLOCK=infinity\\n' | sudo install -D -m 644 /dev/stdin "
          "/etc/systemd/system/user@.service.d/90-framewire.conf   # a user's services, from the next start on"};
}

Finding lock_finding(const MachineFacts& machine, const MemlockRequirement& need, Level fault_level) {
  const MemoryFacts& memory = machine.memory;
  Finding finding{.area = memory_area, .name = "memlock"};
  finding.value = memory.lock_soft_bytes == memory.lock_hard_bytes
                      ? limit_text(memory.lock_soft_bytes)
                      : fmt::format("{}, can be raised to {}", limit_text(memory.lock_soft_bytes),
                                    limit_text(memory.lock_hard_bytes));
  if (can_lock(memory, need.sender_bytes)) {
    const bool is_exempt = memory.may_lock_all && memory.lock_soft_bytes && *memory.lock_soft_bytes < need.sender_bytes;
    finding.value += is_exempt ? "; this user may exceed it" : "";
    finding.text = "RDMA locks its memory: " + need_text(need) + ".";
    return finding;
  }
  finding.text = "Only RDMA needs more: " + need_text(need) + ".";
  if (machine.rdma.adapters.empty() && fault_level != Level::problem) {
    return finding;  // nothing here locks memory
  }
  const bool is_enough_to_view = can_lock(memory, need.viewer_bytes);
  finding.level = is_enough_to_view ? Level::warning : std::max(fault_level, Level::warning);
  finding.text = fmt::format("RDMA locks its memory, and this limit is too low to {}: {}.",
                             is_enough_to_view ? "send" : "send or view", need_text(need));
  finding.remedy = lock_remedies(memory, need.sender_bytes);
  return finding;
}

Finding huge_pages_finding(const MemoryFacts& memory) {
  Finding finding{.area = memory_area, .name = "huge pages"};
  finding.text = "With huge pages a ring is set up several times faster, and the first picture comes sooner.";
  if (memory.huge_pages.empty()) {
    finding.level = Level::note;
    finding.value = "not in this kernel";
    return finding;
  }
  finding.value = fmt::format("{} (viewer's ring)", memory.huge_pages);
  if (!memory.shared_huge_pages.empty()) {
    finding.value += fmt::format(", {} (sender's pool)", memory.shared_huge_pages);
  }
  if (memory.reserved_huge_pages > 0) {
    finding.details.push_back(fmt::format("{} of {} reserved pages of {} are free; framewire takes none of them",
                                          memory.free_huge_pages, memory.reserved_huge_pages,
                                          format_bytes(memory.huge_page_bytes)));
  }
  if (memory.shared_huge_pages == "never" || memory.shared_huge_pages == "deny") {  // as distributions have it
    finding.details.emplace_back(
        "a pool gets them, too: echo advise | sudo tee /sys/kernel/mm/transparent_hugepage/shmem_enabled");
  }
  if (memory.huge_pages == "never") {
    finding.level = Level::note;
    finding.remedy.emplace_back("echo madvise | sudo tee /sys/kernel/mm/transparent_hugepage/enabled");
  }
  return finding;
}

}  // namespace

MemlockRequirement memlock_requirement() {
  const std::uint64_t frame_bytes = slot_stride_bytes(packed_layout(PixelFormat::rgba, 3840, 2160).size_bytes);
  // An upper bound for one connection: header cells, staging, messages and its queues.
  constexpr std::uint64_t connection_bytes = std::uint64_t{2} << 20;
  return {.sender_bytes = (pool_slots_for(default_viewers, default_slots) + max_extra_slots) * frame_bytes +
                          default_viewers * connection_bytes,
          .viewer_bytes = default_slots * frame_bytes + connection_bytes};
}

bool can_lock(const MemoryFacts& memory, std::uint64_t bytes) noexcept {
  return memory.may_lock_all || !memory.lock_soft_bytes || *memory.lock_soft_bytes >= bytes;
}

Findings check_memory(const MachineFacts& machine, Level fault_level) {
  const MemlockRequirement need = memlock_requirement();
  return {memory_finding(machine.memory, need), lock_finding(machine, need, fault_level),
          huge_pages_finding(machine.memory)};
}

// ---- OpenGL, with which viewers draw, and CUDA ----

namespace {

constexpr const char* graphics_area = "Graphics";

/// A software renderer works but is slow. The remedy depends on what prevents the GPU from being used.
void explain_software(const OpenGlFacts& opengl, Finding& finding) {
  finding.level = Level::note;
  finding.text = "This draws on the processor, which is slow for 4K. ";
  if (!opengl.has_render_node) {
    finding.text += "No GPU shows up here (/dev/dri).";
  } else if (opengl.may_use_node) {
    finding.text += "There is a GPU (/dev/dri), but no OpenGL driver for it.";
    finding.remedy = {"sudo apt-get install libgl1-mesa-dri"};
  } else {
    finding.text += "There is a GPU (/dev/dri), which this user may not open.";
    finding.remedy = {"sudo usermod --append --groups render,video \"$USER\"   # from the next login on"};
  }
}

/// Every viewer needs OpenGL, even without a window.
Finding opengl_finding(const OpenGlFacts& opengl) {
  Finding finding{.area = graphics_area, .name = "OpenGL"};
  if (!opengl.is_installed) {
    finding.level = Level::note;
    finding.value = "not checked";
    finding.text = "framewire-doctor-gl, which checks it, is not installed beside this program.";
  } else if (!opengl.trouble.empty()) {
    finding.level = Level::problem;
    finding.value = "none";
    finding.text = fmt::format("framewire view and the sources gl:… need OpenGL 4.5: {}.", opengl.trouble);
    finding.remedy = {"sudo apt-get install libegl1 libgl1 libegl-mesa0 libgl1-mesa-dri"};
  } else {
    finding.value = opengl.renderer;
    finding.details = {fmt::format("{}, {}", opengl.vendor, opengl.version),
                       opengl.has_pinned_memory ? "GL_AMD_pinned_memory: frames are drawn and read back without a copy"
                                                : "no GL_AMD_pinned_memory: one copy per frame more"};
    if (opengl.is_software) {
      explain_software(opengl, finding);
    }
  }
  return finding;
}

std::vector<std::string> addresses_of(const std::vector<CudaPeer>& peers) {
  std::vector<std::string> addresses;
  std::ranges::transform(peers, std::back_inserter(addresses), &CudaPeer::pci_address);
  return addresses;
}

/// The NVIDIA GPUs, for information only: nobody needs one.
Finding cuda_finding(const GpuFacts& gpu) {
  Finding finding{.area = graphics_area, .name = "CUDA"};
  const std::string card = !gpu.devices.empty() ? gpu.devices.front().info.name
                           : !gpu.cards.empty() ? gpu.cards.front().model
                                                : "no card";
  const std::size_t count = std::max(gpu.devices.size(), gpu.cards.size());
  finding.value = fmt::format("{}{}, driver {}", card, count > 1 ? fmt::format(" and {} more", count - 1) : "",
                              gpu.kernel_driver.empty() ? "not known" : gpu.kernel_driver);
  const bool shares_memory =
      std::ranges::any_of(gpu.devices, [](const CudaDeviceFacts& one) { return one.info.shares_memory; });
  finding.text = shares_memory ? "Frames lie there with --memory cuda." : "Frames stay in host memory.";
  for (const CudaDeviceFacts& device : gpu.devices) {
    const CudaDeviceInfo& info = device.info;
    finding.details.push_back(
        fmt::format("{} at {}, {}, {:.0f} GB, CUDA {}; {}", info.name, info.pci_address, info.uuid,
                    static_cast<double>(info.memory_bytes) / 1e9, gpu.cuda_version,
                    info.shares_memory ? "programs can share its memory" : "programs cannot share its memory"));
    if (!info.peers.empty()) {
      finding.details.push_back(fmt::format("{} at {} reads the memory of the GPUs at {}", info.name, info.pci_address,
                                            fmt::join(addresses_of(info.peers), ", ")));
    }
  }
  if (!gpu.cuda_trouble.empty()) {
    finding.details.push_back(gpu.cuda_trouble);
  }
  return finding;
}

/// Which card is near which GPU, and reaches its memory: frames that take another way share it with everything else.
std::vector<std::string> ways_to_gpus(const MachineFacts& machine) {
  constexpr std::size_t most_lines = 64;
  std::vector<std::string> lines;
  for (const CudaDeviceFacts& gpu : machine.gpu.devices) {
    for (const RdmaAdapter& adapter : machine.rdma.adapters) {
      if (lines.size() < most_lines) {
        const auto access = access_to(gpu.info, adapter, machine.gpu.has_peermem);
        const auto way = adapter.pci ? describe(distance_between(adapter.pci->route, gpu.route)) : "by the processor";
        lines.push_back(fmt::format("{} reaches {} at {} {}: {}", adapter.name, gpu.info.name, gpu.info.pci_address,
                                    way, describe(access)));
      }
    }
  }
  return lines;
}

/// Whether a network card could read frames from GPU memory: through a DMA-BUF descriptor, which the card's driver must
/// support, also past the tree of PCIe (data-direct), or through NVIDIA's module nvidia_peermem. For information only,
/// like CUDA.
Finding gpu_direct_finding(const MachineFacts& machine) {
  const GpuFacts& gpu = machine.gpu;
  Finding finding{.area = graphics_area, .name = "GPUDirect"};
  finding.text = "Used by rdma with --memory cuda.";
  const auto is_card = [](const RdmaAdapter& one) { return one.pci && one.device; };
  const auto any_reaches = [&](GpuAccess access) {
    return std::ranges::any_of(gpu.devices, [&](const CudaDeviceFacts& device) {
      return std::ranges::any_of(machine.rdma.adapters, [&](const RdmaAdapter& one) {
        return is_card(one) && access_to(device.info, one, gpu.has_peermem) == access;
      });
    });
  };
  const bool may_be_reached =
      std::ranges::any_of(gpu.devices, [](const CudaDeviceFacts& one) { return one.info.takes_gpu_direct_rdma; });
  finding.details = ways_to_gpus(machine);
  if (gpu.devices.empty()) {
    finding.value = gpu.cuda_trouble.empty() ? "CUDA lists no device" : "not known: " + gpu.cuda_trouble;
  } else if (std::ranges::none_of(machine.rdma.adapters, is_card)) {
    finding.value = "no RDMA card here that could reach the GPU's memory";
  } else if (any_reaches(GpuAccess::data_direct)) {
    finding.value = "possible, by data-direct";
  } else if (any_reaches(GpuAccess::dma_buf)) {
    finding.value = "possible, by DMA-BUF";
  } else if (any_reaches(GpuAccess::peer_memory)) {
    finding.value = "possible, by nvidia_peermem";
  } else if (any_reaches(GpuAccess::unknown)) {
    finding.value = "not known: whether the RDMA card takes DMA-BUF";
  } else if (may_be_reached) {
    finding.value = "possible where the module nvidia_peermem can be loaded";
  } else {
    finding.value = "not possible: neither DMA-BUF at both cards, nor does the GPU let others reach its memory";
  }
  return finding;
}

}  // namespace

Findings check_gpu(const MachineFacts& machine) {
  Findings findings = {opengl_finding(machine.opengl)};
  const GpuFacts& gpu = machine.gpu;
  if (!gpu.kernel_driver.empty() || !gpu.cards.empty() || !gpu.devices.empty()) {
    findings.push_back(cuda_finding(gpu));
    findings.push_back(gpu_direct_finding(machine));
  }
  return findings;
}

}  // namespace framewire
