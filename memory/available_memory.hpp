// How much memory this process may still take: of the machine's, and of its control groups'.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

namespace framewire {

struct AvailableMemory {
  std::uint64_t bytes = 0;  // 0 where it cannot be read
  /// The file that sets the limit, "/sys/fs/cgroup/…/memory.max"; empty where the machine's own memory does.
  std::string limited_by{};
};

/// The least of MemAvailable in /proc/meminfo and of what each control group that this process is in has left, up to
/// the outermost that is visible here (a container, a systemd unit): its limit less what it uses, but for the files
/// that the kernel would drop from its cache. Control groups of version 2 (memory.max, memory.high) and 1
/// (memory.limit_in_bytes). `root` stands before every path, for tests. Throws nothing but std::bad_alloc.
AvailableMemory available_memory(const std::filesystem::path& root = "/");

/// available_memory().bytes.
std::uint64_t available_memory_bytes();

}  // namespace framewire
