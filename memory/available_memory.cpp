#include "memory/available_memory.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <limits>
#include <optional>
#include <span>
#include <sstream>
#include <string_view>

namespace framewire {

namespace {

namespace fs = std::filesystem;

/// The file names of the two versions: Documentation/admin-guide/cgroup-v2.rst and cgroup-v1/memory.rst.
struct GroupFiles {
  std::array<std::string_view, 2> limits;  // the second may be empty
  std::string_view usage;
  std::array<std::string_view, 2> droppable;  // fields of memory.stat; without shmem
};

constexpr GroupFiles files_of_version_2{
    {"memory.max", "memory.high"}, "memory.current", {"active_file", "inactive_file"}};
constexpr GroupFiles files_of_version_1{
    {"memory.limit_in_bytes", ""}, "memory.usage_in_bytes", {"total_active_file", "total_inactive_file"}};

/// Without a limit version 1 reports the largest number of whole pages.
constexpr std::uint64_t no_limit_bytes = std::uint64_t{1} << 62;

/// A mounted hierarchy.
struct GroupMount {
  fs::path root;  // the group at the mount point
  fs::path point;
};

/// A machine with many containers has thousands of mounts, of some hundred bytes each.
constexpr std::size_t longest_mount_list_bytes = std::size_t{1} << 20;

/// What is in a file of the kernel; empty if there is none.
std::istringstream open(const SystemFiles& files, const fs::path& file,
                        std::size_t limit_bytes = SystemFiles::default_limit_bytes) {
  return std::istringstream(files.text(file.native(), limit_bytes).value_or(""));
}

/// The sum of the `wanted` fields in a file of "name value" lines; ignores a colon after the name.
std::optional<std::uint64_t> read_fields(const SystemFiles& files, const fs::path& file,
                                         std::span<const std::string_view> wanted) {
  std::istringstream stream = open(files, file);
  std::optional<std::uint64_t> sum;
  std::string name;
  std::uint64_t value = 0;
  while (stream >> name >> value) {
    if (name.ends_with(':')) {
      name.pop_back();
    }
    if (std::ranges::find(wanted, name) != wanted.end()) {
      sum = sum.value_or(0) + value;
    }
    stream.ignore(std::numeric_limits<std::streamsize>::max(), '\n');
  }
  return sum;
}

bool has_word(const std::string& list, std::string_view wanted) {
  std::istringstream words(list);
  for (std::string word; std::getline(words, word, ',');) {
    if (word == wanted) {
      return true;
    }
  }
  return false;
}

/// proc_pid_mountinfo(5): "36 35 98:0 ROOT POINT OPTIONS … - TYPE SOURCE OPTIONS".
std::optional<GroupMount> find_mount(const SystemFiles& files, bool is_version_2) {
  std::istringstream file = open(files, "/proc/self/mountinfo", longest_mount_list_bytes);
  for (std::string line; std::getline(file, line);) {
    const std::size_t dash = line.find(" - ");
    if (dash == std::string::npos) {
      continue;
    }
    std::istringstream front(line.substr(0, dash));
    std::istringstream back(line.substr(dash + 3));
    std::array<std::string, 5> before;
    std::array<std::string, 3> behind;
    for (std::string& word : before) {
      front >> word;
    }
    for (std::string& word : behind) {
      back >> word;
    }
    if (is_version_2 ? behind[0] == "cgroup2" : behind[0] == "cgroup" && has_word(behind[2], "memory")) {
      return GroupMount{before[3], before[4]};
    }
  }
  return std::nullopt;
}

/// This process's group in the hierarchy: proc_pid_cgroup(5), "0::PATH" and "4:cpu,memory:PATH".
std::optional<fs::path> find_group(const SystemFiles& files, bool is_version_2) {
  std::istringstream file = open(files, "/proc/self/cgroup");
  for (std::string line; std::getline(file, line);) {
    const std::size_t first = line.find(':');
    const std::size_t second = line.find(':', first == std::string::npos ? first : first + 1);
    if (second == std::string::npos) {
      continue;
    }
    const std::string controllers = line.substr(first + 1, second - first - 1);
    if (is_version_2 ? line.starts_with("0::") : has_word(controllers, "memory")) {
      return line.substr(second + 1);
    }
  }
  return std::nullopt;
}

void take_less(AvailableMemory& found, const SystemFiles& files, const fs::path& group, const GroupFiles& names) {
  // "max" is no number.
  const auto number = [&](std::string_view name) { return files.number((group / name).native()); };
  const auto used = number(names.usage);
  if (!used) {
    return;  // the hierarchy's root has no such file
  }
  const std::uint64_t droppable =
      std::min(*used, read_fields(files, group / "memory.stat", names.droppable).value_or(0));
  for (const std::string_view name : names.limits) {
    const auto limit = name.empty() ? std::nullopt : number(name);
    if (!limit || *limit >= no_limit_bytes) {
      continue;
    }
    const std::uint64_t free = *limit - std::min(*limit, *used - droppable);
    found.group_limit_bytes = std::min(found.group_limit_bytes.value_or(UINT64_MAX), *limit);
    found.group_free_bytes = std::min(found.group_free_bytes.value_or(UINT64_MAX), free);
    const std::uint64_t left = std::max<std::uint64_t>(free, 1);  // 0 means "not known"
    if (found.bytes == 0 || left < found.bytes) {
      found.bytes = left;
      found.limited_by = (group / name).string();
    }
  }
}

void take_groups(AvailableMemory& found, const SystemFiles& files, bool is_version_2) {
  const auto mount = find_mount(files, is_version_2);
  const auto group = find_group(files, is_version_2);
  if (!mount || !group) {
    return;
  }
  // In a container with its host's cgroup namespace the mount point is some group, and this process's group is below
  // it. If the group is elsewhere it is not visible, but the limits of the mount point still apply.
  const fs::path below = group->lexically_relative(mount->root);
  const bool is_visible = !below.empty() && *below.begin() != "..";
  fs::path at = mount->point;
  take_less(found, files, at, is_version_2 ? files_of_version_2 : files_of_version_1);
  for (const fs::path& part : is_visible&& below != "." ? below : fs::path()) {
    at /= part;
    take_less(found, files, at, is_version_2 ? files_of_version_2 : files_of_version_1);
  }
}

}  // namespace

AvailableMemory available_memory(const SystemFiles& files) {
  constexpr std::array<std::string_view, 1> wanted{"MemAvailable"};
  AvailableMemory found{.bytes = read_fields(files, "/proc/meminfo", wanted).value_or(0) * 1024};
  take_groups(found, files, true);
  take_groups(found, files, false);
  return found;
}

std::uint64_t available_memory_bytes() {
  return available_memory().bytes;
}

}  // namespace framewire
