// Memory by the kernel's files: how much, in which pages, and what the control groups leave of it.
#include <algorithm>
#include <charconv>

#include "doctor/probe.hpp"

namespace framewire {

namespace {

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

/// What one version of control groups calls its files.
struct GroupFiles {
  std::string_view mount;
  std::string_view limit;
  std::string_view usage;
  std::string_view reclaimable;  // in memory.stat: pages of files, which the kernel takes back when it needs them
};
constexpr GroupFiles version_two = {"/sys/fs/cgroup", "memory.max", "memory.current", "inactive_file"};
constexpr GroupFiles version_one = {"/sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.usage_in_bytes",
                                    "total_inactive_file"};
/// Version one names the largest number of whole pages where there is no limit.
constexpr std::uint64_t no_limit_bytes = std::uint64_t{1} << 62;

/// The value behind "NAME " in memory.stat.
std::uint64_t statistic(std::string_view text, std::string_view name) {
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    if (line.starts_with(name) && line.substr(name.size()).starts_with(' ')) {
      return leading_number(line.substr(name.size())).value_or(0);
    }
  }
  return 0;
}

/// The tightest of a group and those around it: each counts what is below it, too.
void read_groups(const SystemFiles& files, const GroupFiles& names, std::string group, MemoryFacts& memory) {
  for (;;) {
    const std::string folder = std::string(names.mount) + group + "/";
    const auto limit = files.number(folder + std::string(names.limit));
    if (limit && *limit < no_limit_bytes) {
      const std::uint64_t usage = files.number(folder + std::string(names.usage)).value_or(0);
      const std::uint64_t reclaimable =
          std::min(statistic(files.text(folder + "memory.stat").value_or(""), names.reclaimable), usage);
      const std::uint64_t free = *limit - std::min(*limit, usage - reclaimable);
      memory.group_limit_bytes = std::min(memory.group_limit_bytes.value_or(UINT64_MAX), *limit);
      memory.group_free_bytes = std::min(memory.group_free_bytes.value_or(UINT64_MAX), free);
    }
    if (group.empty()) {
      return;
    }
    group.resize(group.rfind('/'));
  }
}

/// Lines of /proc/self/cgroup are "0::/user.slice" (version two) or "4:memory:/docker/1c52". In a container without a
/// namespace for groups the path is the machine's, and what is mounted is the container's own: its folders are not
/// there, and the walk ends at the mount.
void probe_groups(const SystemFiles& files, MemoryFacts& memory) {
  const std::string text = files.text("/proc/self/cgroup").value_or("0::/");
  std::string_view rest = text;
  while (!rest.empty()) {
    const std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(line.size() + 1, rest.size()));
    const std::size_t first = line.find(':');
    const std::size_t second = first == std::string_view::npos ? first : line.find(':', first + 1);
    if (second == std::string_view::npos) {
      continue;
    }
    const std::string controllers = "," + std::string(line.substr(first + 1, second - first - 1)) + ",";
    const std::string_view path = line.substr(second + 1);
    const std::string group(!path.starts_with('/') || path == "/" ? "" : path);
    if (controllers == ",,") {
      read_groups(files, version_two, group, memory);
    } else if (controllers.find(",memory,") != std::string::npos) {
      read_groups(files, version_one, group, memory);
    }
  }
}

}  // namespace

MemoryFacts probe_memory(const SystemFiles& files) {
  MemoryFacts memory;
  const std::string meminfo = files.text("/proc/meminfo").value_or("");
  const auto number = [&](std::string_view name) { return leading_number(value_of(meminfo, name).value_or("")); };
  constexpr std::uint64_t kilobyte = 1024;  // as /proc/meminfo counts them
  const auto bytes = [&](std::string_view name) {
    const auto kilobytes = number(name);
    return kilobytes ? std::optional(*kilobytes * kilobyte) : std::nullopt;
  };
  memory.total_bytes = bytes("MemTotal");
  memory.available_bytes = bytes("MemAvailable");
  memory.reserved_huge_pages = number("HugePages_Total").value_or(0);
  memory.free_huge_pages = number("HugePages_Free").value_or(0);
  memory.huge_page_bytes = bytes("Hugepagesize").value_or(0);
  probe_groups(files, memory);
  memory.huge_pages = chosen_word(files.line("/sys/kernel/mm/transparent_hugepage/enabled"));
  memory.shared_huge_pages = chosen_word(files.line("/sys/kernel/mm/transparent_hugepage/shmem_enabled"));
  memory.may_lock_all = may_lock_all(files);
  return memory;
}

}  // namespace framewire
