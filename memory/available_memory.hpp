// How much more memory this process can allocate, by the machine and by its control groups.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/system_files.hpp"

namespace framewire {

struct AvailableMemory {
  std::uint64_t bytes = 0;  // 0 if it cannot be read
  /// The file that sets the limit, "/sys/fs/cgroup/…/memory.max"; empty if the machine's own memory is the limit.
  std::string limited_by{};
  /// The lowest limit of this process's control groups, and the least that one of them has left; nothing without
  /// limits.
  std::optional<std::uint64_t> group_limit_bytes{};
  std::optional<std::uint64_t> group_free_bytes{};
};

/// The minimum of MemAvailable in /proc/meminfo and of what each control group of this process has left. The outermost
/// group is the last one visible here (a container, a systemd unit). A group has left: its limit minus its usage, where
/// file pages that the kernel can reclaim do not count as used. Supports control groups version 2 (memory.max,
/// memory.high) and version 1 (memory.limit_in_bytes). Throws only std::bad_alloc.
AvailableMemory available_memory(const SystemFiles& files = SystemFiles());

/// available_memory().bytes.
std::uint64_t available_memory_bytes();

}  // namespace framewire
