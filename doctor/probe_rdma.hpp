// Whether frames can go through an RDMA port.
#pragma once

#include <optional>
#include <string>

#include "doctor/facts.hpp"

namespace framewire {

/// What is wrong with a port, the first thing that a session would meet.
enum class PortFault {
  none,
  no_connections,  // neither InfiniBand, RoCE nor iWARP
  no_queue_pair,
  waits_for_subnet_manager,
  being_set_up,  // by the subnet manager
  down,
  no_gid,
  no_address,     // rdma_cm finds ports by the address of their network interface
  other_network,  // it has one, in a network that is not this process's
};

/// All values, all pure functions of them.
struct RdmaPortView {
  const RdmaAdapter* adapter = nullptr;
  const RdmaPort* port = nullptr;
  double gigabits_per_second = 0;               // 0: unknown
  const NetworkInterface* base = nullptr;       // that sysfs names; nullptr: not known
  const NetworkInterface* interface = nullptr;  // that has the address: `base`, or a VLAN upon it; nullptr: not known
  const RdmaGid* gid = nullptr;                 // that a connection should have; nullptr: there is none
  std::string address{};                        // that a peer should dial; empty: none, or rdma_cm could not be asked
  PortFault fault = PortFault::none;
};

/// The port with all that belongs to it; points into its arguments.
RdmaPortView view_port(const RdmaAdapter& adapter, const RdmaPort& port, const NetworkFacts& network);

/// "the port is down", for the middle of a sentence; empty for none.
std::string describe(PortFault fault);

/// Whether frames can go by RDMA on this machine.
struct UsableRdmaPort {
  std::optional<RdmaPortView> best;  // the fastest usable port
  std::string why_not;               // when there is none, for the middle of a sentence
  [[nodiscard]] bool is_usable() const noexcept { return best.has_value(); }
};

/// Points into `machine`. `lock_is_enough`: of memory that a viewer's ring pins (check_memory.hpp).
UsableRdmaPort find_usable_rdma_port(const MachineFacts& machine, bool lock_is_enough);

}  // namespace framewire
