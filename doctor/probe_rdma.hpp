// Decides whether an RDMA port can carry frames.
#pragma once

#include <optional>
#include <string>

#include "doctor/facts.hpp"

namespace framewire {

/// The first fault of a port that a session would meet.
enum class PortFault {
  none,
  no_connections,  // neither InfiniBand, RoCE nor iWARP
  no_queue_pair,
  waits_for_subnet_manager,
  being_set_up,  // by the subnet manager
  down,
  no_gid,
  no_address,     // of its network interface, by which rdma_cm finds a port
  other_network,  // its address is in another network namespace
};

/// A port with its interface, GID and address. A value that points into the facts.
struct RdmaPortView {
  const RdmaAdapter* adapter = nullptr;
  const RdmaPort* port = nullptr;
  double gigabits_per_second = 0;               // 0: unknown
  const NetworkInterface* base = nullptr;       // the one that sysfs names; nullptr: not known
  const NetworkInterface* interface = nullptr;  // the one with the address: `base` or a VLAN on it; nullptr: not known
  const RdmaGid* gid = nullptr;                 // the one to connect with; nullptr: there is none
  std::string address{};                        // the one that a peer dials; empty: none, or rdma_cm did not answer
  PortFault fault = PortFault::none;
};

/// Collects what belongs to the port. The result points into the arguments.
RdmaPortView view_port(const RdmaAdapter& adapter, const RdmaPort& port, const NetworkFacts& network);

/// "the port is down", to be used within a sentence; empty for none.
std::string describe(PortFault fault);

/// The port that carries frames, or why there is none.
struct UsableRdmaPort {
  std::optional<RdmaPortView> best;  // the fastest usable port
  std::string why_not;               // if there is none; to be used within a sentence
  [[nodiscard]] bool is_usable() const noexcept { return best.has_value(); }
};

/// The result points into `machine`. `lock_is_enough`: a viewer's ring can be pinned (can_lock() of check.hpp).
UsableRdmaPort find_usable_rdma_port(const MachineFacts& machine, bool lock_is_enough);

}  // namespace framewire
