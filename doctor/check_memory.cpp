// Memory: enough of it, allowed to be locked, in huge pages.
#include <fmt/format.h>

#include <algorithm>

#include "base/text.hpp"
#include "doctor/check.hpp"
#include "frame/frame_layout.hpp"
#include "transport/pool.hpp"

namespace framewire {

namespace {

constexpr const char* area = "Memory";
// The defaults of framewire send.
constexpr std::uint32_t default_slots = 3;
constexpr std::uint32_t default_viewers = 4;

std::string limit_text(std::optional<std::uint64_t> bytes) {
  return bytes ? format_bytes(*bytes) : "unlimited";
}

std::string need_text(const MemlockRequirement& need) {
  return fmt::format("4K rgba takes {} at a sender (--viewers {} x --slots {} + 4 frames) and {} at a viewer",
                     format_bytes(need.sender_bytes), default_viewers, default_slots, format_bytes(need.viewer_bytes));
}

Finding memory_finding(const MemoryFacts& memory, const MemlockRequirement& need) {
  const std::uint64_t available =
      std::min(memory.available_bytes.value_or(UINT64_MAX), memory.group_free_bytes.value_or(UINT64_MAX));
  Finding finding{.area = area, .name = "memory"};
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

/// Where it is set: for one shell, for all logins, and for a service.
std::vector<std::string> lock_remedies(const MemoryFacts& memory, std::uint64_t bytes) {
  const bool may_raise = !memory.lock_hard_bytes || *memory.lock_hard_bytes >= bytes;
  const std::string now = may_raise
                              ? fmt::format("ulimit -l {}", memory.lock_hard_bytes ? "$(ulimit -H -l)" : "unlimited")
                              : std::string("sudo prlimit --memlock=unlimited --pid $$");
  return {now + "   # this shell, at once",
          "echo '* - memlock unlimited' | sudo tee /etc/security/limits.d/90-framewire.conf   # every login from the "
          "next on",
          // A user's services get what the user's own manager has: an override of theirs cannot exceed it.
          "printf '[Service]\\nLimitMEMLOCK=infinity\\n' | sudo install -D -m 644 /dev/stdin "
          "/etc/systemd/system/user@.service.d/90-framewire.conf   # a user's services, from the next start on"};
}

Finding lock_finding(const MachineFacts& machine, const MemlockRequirement& need, Level fault_level) {
  const MemoryFacts& memory = machine.memory;
  Finding finding{.area = area, .name = "memlock"};
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
    return finding;  // nothing here would lock any
  }
  const bool is_enough_to_view = can_lock(memory, need.viewer_bytes);
  finding.level = is_enough_to_view ? Level::warning : std::max(fault_level, Level::warning);
  finding.text = fmt::format("RDMA locks its memory, and this limit is too low to {}: {}.",
                             is_enough_to_view ? "send" : "send or view", need_text(need));
  finding.remedy = lock_remedies(memory, need.sender_bytes);
  return finding;
}

Finding huge_pages_finding(const MemoryFacts& memory) {
  Finding finding{.area = area, .name = "huge pages"};
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
  // The headers' cells, staging and notices of one connection, and its queues: less than this.
  constexpr std::uint64_t connection_bytes = std::uint64_t{2} << 20;
  return {
      .sender_bytes = pool_slots_for(default_viewers, default_slots) * frame_bytes + default_viewers * connection_bytes,
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

}  // namespace framewire
