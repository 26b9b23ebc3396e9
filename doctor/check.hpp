// From facts to findings: pure functions.
#pragma once

#include <optional>

#include "doctor/facts.hpp"
#include "doctor/finding.hpp"
#include "doctor/probe_rdma.hpp"
#include "transport/link.hpp"

namespace framewire {

/// What a link's pages must be lockable for RDMA: rings and pools are registered, which pins them.
/// Sender: pool_slots_for(viewers, slots) slots (transport/pool.hpp), viewer: a ring of `slots`, each of one frame of
/// 3840x2160 rgba, with the defaults of --viewers (4) and --slots (3); and what each connection takes besides.
struct MemlockRequirement {
  std::uint64_t sender_bytes = 0;
  std::uint64_t viewer_bytes = 0;
};
MemlockRequirement memlock_requirement();

/// Whether this much can be locked.
bool can_lock(const MemoryFacts& memory, std::uint64_t bytes) noexcept;

/// Which links work. Points into the facts.
struct WorkingLinks {
  bool local = false;
  bool tcp = false;
  UsableRdmaPort rdma;
};
WorkingLinks find_working_links(const MachineFacts& machine);

/// How grave it is when RDMA does not work: a problem where it was asked for, a warning where there is a device that
/// does not work, and a note where another port does.
Level rdma_fault_level(const MachineFacts& machine, std::optional<LinkKind> wanted, const WorkingLinks& works);

// One area each, in the order of the report. `wanted`: --transport; nothing: whichever works.
Findings check_links(const MachineFacts& machine, std::optional<LinkKind> wanted, const WorkingLinks& works);
Findings check_rdma(const MachineFacts& machine, Level fault_level);
/// Of one port; `fault_level`: how grave it is when it carries nothing.
Findings check_port(const RdmaPortView& view, Level fault_level);
/// Of the card that `adapter` is a port of: whether its slot is as fast as all its ports together. Said once, with the
/// first of them.
Findings check_pci(const RdmaAdapter& adapter, const RdmaFacts& rdma);
Findings check_memory(const MachineFacts& machine, Level fault_level);
Findings check_gpu(const MachineFacts& machine);
Findings check_network(const NetworkFacts& network);
Findings check_system(const SystemFacts& system, const KeyFacts& key);

/// All areas.
Findings check_machine(const MachineFacts& machine, std::optional<LinkKind> wanted);

}  // namespace framewire
