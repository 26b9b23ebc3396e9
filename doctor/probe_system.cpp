// The machine itself, by the kernel's files.
#include <sched.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <climits>

#include "doctor/probe.hpp"

namespace framewire {

namespace {

/// The kind of container, from the places that each kind is known by.
std::string container_kind(const SystemFiles& files) {
  if (const auto named = files.line("/run/systemd/container"); named && !named->empty()) {
    return *named;
  }
  if (files.exists("/.dockerenv")) {
    return "docker";
  }
  if (files.exists("/run/.containerenv")) {
    return "podman";
  }
  // The environment of the first process is that of a container's own.
  const auto environment = files.text("/proc/1/environ").value_or("");
  constexpr std::string_view mark = "container=";
  for (std::size_t at = 0; at < environment.size();) {
    const std::size_t end = std::min(environment.find('\0', at), environment.size());
    const std::string_view entry = std::string_view(environment).substr(at, end - at);
    if (entry.starts_with(mark) && entry.size() > mark.size()) {
      return std::string(entry.substr(mark.size()));
    }
    at = end + 1;
  }
  return files.exists("/var/run/secrets/kubernetes.io") ? "kubernetes" : "";
}

std::vector<std::string> governors(const SystemFiles& files) {
  std::vector<std::string> found;
  for (const std::string& name : files.names("/sys/devices/system/cpu")) {
    const auto governor = files.line("/sys/devices/system/cpu/" + name + "/cpufreq/scaling_governor");
    if (governor && !governor->empty() && std::ranges::find(found, *governor) == found.end()) {
      found.push_back(*governor);
    }
  }
  return found;
}

/// The word in brackets of "always [madvise] never".
std::string chosen_word(const std::optional<std::string>& line) {
  if (!line) {
    return "";
  }
  const std::size_t open = line->find('[');
  const std::size_t close = line->find(']');
  return open != std::string::npos && close != std::string::npos && open < close
             ? line->substr(open + 1, close - open - 1)
             : "";
}

/// CAP_IPC_LOCK is asked of the first user namespace, whose identities map onto themselves.
bool may_lock_all(const SystemFiles& files) {
  constexpr unsigned cap_ipc_lock = 14;
  const auto effective = value_of(files.text("/proc/self/status").value_or(""), "CapEff");
  const auto map = files.line("/proc/self/uid_map");
  if (!effective || !map || !map->starts_with("0 ") || !map->ends_with(" 4294967295")) {
    return false;
  }
  std::uint64_t bits = 0;
  const auto [end, error] = std::from_chars(effective->data(), effective->data() + effective->size(), bits, 16);
  return error == std::errc{} && (bits >> cap_ipc_lock & 1U) != 0;
}

std::optional<std::uint64_t> limit_bytes(rlim_t limit) {
  return limit == RLIM_INFINITY ? std::nullopt : std::optional<std::uint64_t>(limit);
}

}  // namespace

std::string own_folder() {
  std::array<char, PATH_MAX> path{};
  const ssize_t size = ::readlink("/proc/self/exe", path.data(), path.size());
  const std::string_view whole(path.data(), size > 0 ? static_cast<std::size_t>(size) : 0);
  return std::string(whole.substr(0, whole.rfind('/') + 1));
}

SystemFacts probe_system(const SystemFiles& files) {
  SystemFacts system;
  system.distribution = value_of(files.text("/etc/os-release").value_or(""), "PRETTY_NAME").value_or("");
  system.kernel = files.line("/proc/sys/kernel/osrelease").value_or("");
  system.container = container_kind(files);
  system.governors = governors(files);
  return system;
}

MemoryFacts probe_memory(const SystemFiles& files) {
  MemoryFacts memory;
  const std::string meminfo = files.text("/proc/meminfo").value_or("");
  const auto number = [&](std::string_view name) {
    return leading_number(value_of(meminfo, name).value_or("")).value_or(0);
  };
  constexpr std::uint64_t kilobyte = 1024;  // as /proc/meminfo counts them
  memory.total_bytes = number("MemTotal") * kilobyte;
  memory.available_bytes = number("MemAvailable") * kilobyte;
  memory.reserved_huge_pages = number("HugePages_Total");
  memory.free_huge_pages = number("HugePages_Free");
  memory.huge_page_bytes = number("Hugepagesize") * kilobyte;
  memory.group_limit_bytes = files.number("/sys/fs/cgroup/memory.max");
  memory.huge_pages = chosen_word(files.line("/sys/kernel/mm/transparent_hugepage/enabled"));
  memory.shared_huge_pages = chosen_word(files.line("/sys/kernel/mm/transparent_hugepage/shmem_enabled"));
  memory.may_lock_all = may_lock_all(files);
  return memory;
}

void probe_process(SystemFacts& system, MemoryFacts& memory) {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (::sched_getaffinity(0, sizeof set, &set) == 0) {
    system.cores = static_cast<std::uint32_t>(CPU_COUNT(&set));
  }
  rlimit limit{};
  if (::getrlimit(RLIMIT_MEMLOCK, &limit) == 0) {
    memory.lock_soft_bytes = limit_bytes(limit.rlim_cur);
    memory.lock_hard_bytes = limit_bytes(limit.rlim_max);
  }
  for (const char* name : {"send", "view", "bench", "key"}) {
    if (::access((own_folder() + "framewire-" + name).c_str(), X_OK) == 0) {
      system.programs_beside.emplace_back(name);
    }
  }
}

}  // namespace framewire
