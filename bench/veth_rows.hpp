// Rows over a virtual Ethernet cable on this machine: AF_XDP, and beside it UDP and plain TCP sockets.
#pragma once

#include "bench/client.hpp"
#include "bench/row.hpp"

namespace framewire {

/// Starts a process, and sends the plan's messages to it. Each side is in a network namespace of its own, which has
/// nothing but its end of the cable, so no other frame comes. Nothing remains of them after the row, however either
/// side ends. Main thread; no other thread may run but that of the signals, because this forks. Throws Error,
/// CannotBegin (a capability is missing, the kernel has no veth or XDP), Interrupted.
RowResult measure_veth_row(const RowPlan& plan, const RowContext& context);

}  // namespace framewire
