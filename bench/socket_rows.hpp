// The reference: what two processes get from plain blocking sockets with the same buffers.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "bench/client.hpp"
#include "bench/row.hpp"
#include "command/interruption.hpp"
#include "transport/control/message_channel.hpp"
#include "transport/endpoint_options.hpp"
#include "transport/session/session_acceptor.hpp"

namespace framewire {

/// Sends the plan's messages over a TCP connection on loopback to a process that it starts, from as many buffers as the
/// plan has slots into as many: one sendmsg() and one recvmsg() for each, header and payload together. "latency": each
/// message is answered by one byte before the next. Main thread, with no other thread running but that of the signals.
/// Throws Error, and Interrupted.
RowResult measure_plain_socket(const RowPlan& plan, const Interruption& interruption);

// The client of a row of plain sockets between two machines.

/// Sends the plan's messages to the context's server over a TCP connection of its own, whose other end that server
/// reads: what measure_plain_socket() does within one machine. Where clocks differ a stream has no latencies; those of
/// "latency" are half of a round trip. Main thread. Throws Error, CannotBegin, Interrupted.
RowResult measure_socket_row(const RowPlan& plan, const RowContext& context);

// The server's part of a row of plain sockets between two machines.

/// Serves the row that `request` asks for, to a client that has said hello. Prints it on standard output if `prints`.
/// Throws Error; of those that are refused the client has been told.
void serve_socket_row(const nlohmann::json& request, MessageChannel& channel, SessionAcceptor& acceptor,
                      const EndpointOptions& endpoint, bool prints);

}  // namespace framewire
