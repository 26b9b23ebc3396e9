// The findings about this machine: pure functions of its facts, one for each area of the report.
#pragma once

#include <optional>

#include "doctor/facts.hpp"
#include "doctor/finding.hpp"
#include "doctor/probe_rdma.hpp"
#include "transport/link.hpp"

namespace framewire {

/// Bytes that must be lockable for RDMA: rings and pools become MRs, which pins their pages.
/// Sender: pool_slots_for(viewers, slots) slots, and max_lent_slots that a decoder fills (transport/pool.hpp). Viewer:
/// a ring of `slots`. Both include what each connection needs besides. A slot holds one 3840x2160 rgba frame; --viewers
/// (4) and --slots (3) have their defaults.
struct MemlockRequirement {
  std::uint64_t sender_bytes = 0;
  std::uint64_t viewer_bytes = 0;
};
MemlockRequirement memlock_requirement();

/// Whether `bytes` can be locked.
bool can_lock(const MemoryFacts& memory, std::uint64_t bytes) noexcept;

/// The links that work. Points into the facts.
struct WorkingLinks {
  bool local = false;
  bool tcp = false;
  UsableRdmaPort rdma;
};
WorkingLinks find_working_links(const MachineFacts& machine);

/// The level of an RDMA fault: a problem if RDMA was asked for, a warning if there is a device that does not work, a
/// note if another port works.
Level rdma_fault_level(const MachineFacts& machine, std::optional<LinkKind> wanted, const WorkingLinks& works);

// One function for each area, in the order of the report. `wanted`: --transport; nothing: any link that works.
Findings check_links(const MachineFacts& machine, std::optional<LinkKind> wanted, const WorkingLinks& works);
Findings check_rdma(const MachineFacts& machine, Level fault_level);
/// For one port. `fault_level`: the level if the port cannot carry frames.
Findings check_port(const RdmaPortView& view, Level fault_level);
/// For the card of `adapter`: whether its slot is as fast as all its ports together. Reported once, with the card's
/// first adapter.
Findings check_pci(const RdmaAdapter& adapter, const RdmaFacts& rdma);
Findings check_memory(const MachineFacts& machine, Level fault_level);
Findings check_gpu(const MachineFacts& machine);
Findings check_network(const NetworkFacts& network);
Findings check_system(const SystemFacts& system, const KeyFacts& key);

/// All areas.
Findings check_machine(const MachineFacts& machine, std::optional<LinkKind> wanted);

}  // namespace framewire
