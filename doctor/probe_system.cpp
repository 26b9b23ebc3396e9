// The machine itself, by the kernel's files.
#include <sched.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
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

std::optional<std::uint64_t> limit_bytes(rlim_t limit) {
  return limit == RLIM_INFINITY ? std::nullopt : std::optional<std::uint64_t>(limit);
}

}  // namespace

std::string own_folder(const SystemFiles& files) {
  std::array<char, PATH_MAX> path{};
  const ssize_t size = ::readlink(files.real_path("/proc/self/exe").c_str(), path.data(), path.size());
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

void probe_process(const SystemFiles& files, SystemFacts& system, MemoryFacts& memory) {
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
  const std::string folder = own_folder(files);
  for (const char* name : {"send", "view", "bench", "key"}) {
    if (!folder.empty() && ::access((folder + "framewire-" + name).c_str(), X_OK) == 0) {
      system.programs_beside.emplace_back(name);
    }
  }
}

}  // namespace framewire
