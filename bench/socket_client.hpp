// The client of a row of plain sockets between two machines.
#pragma once

#include "bench/client.hpp"

namespace framewire {

/// Sends the plan's messages to the context's server over a TCP connection of its own, whose other end that server
/// reads: what measure_plain_socket() does within one machine. Where clocks differ a stream has no latencies; those of
/// "latency" are half of a round trip. Main thread. Throws Error, CannotBegin, Interrupted.
RowResult measure_socket_row(const RowPlan& plan, const RowContext& context);

}  // namespace framewire
