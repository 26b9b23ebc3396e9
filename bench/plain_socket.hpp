// The reference: what two processes get from plain blocking sockets with the same buffers.
#pragma once

#include "bench/row.hpp"
#include "command/interruption.hpp"

namespace framewire {

/// Sends the plan's messages over a TCP connection on loopback to a process that it starts, from as many buffers as the
/// plan has slots into as many: one sendmsg() and one recvmsg() for each, header and payload together. "latency": each
/// message is answered by one byte before the next. Main thread, with no other thread running but that of the signals.
/// Throws Error, and Interrupted.
RowResult measure_plain_socket(const RowPlan& plan, const Interruption& interruption);

}  // namespace framewire
