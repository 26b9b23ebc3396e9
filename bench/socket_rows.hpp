// Rows of plain blocking sockets, the reference for the links: within this machine, and between two machines.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "bench/client.hpp"
#include "bench/row.hpp"
#include "command/interruption.hpp"
#include "transport/control/message_channel.hpp"
#include "transport/endpoint_options.hpp"
#include "transport/session/session_acceptor.hpp"

namespace framewire {

// ---- Within this machine ----

/// Starts a process, and sends the plan's messages to it over a TCP connection on loopback. Each side has as many
/// buffers as the plan has slots. Each message is one sendmsg() and one recvmsg(), header and payload together. For
/// "latency" the receiver answers each message with one byte before the next. Main thread; no other thread may run but
/// that of the signals, because this forks. Throws Error, and Interrupted.
RowResult measure_plain_socket(const RowPlan& plan, const Interruption& interruption);

// ---- Between two machines: the client ----

/// Sends the plan's messages to the context's server over a TCP connection of their own, as measure_plain_socket() does
/// within one machine. "stream" has no latencies, because the clocks differ; those of "latency" are half of a round
/// trip. Main thread. Throws Error, CannotBegin, Interrupted.
RowResult measure_socket_row(const RowPlan& plan, const RowContext& context);

// ---- Between two machines: the server ----

/// Serves the row of `request`, after the client's hello. Prints it on standard output if `prints`. Throws Error; the
/// client has already been told of a refused request.
void serve_socket_row(const nlohmann::json& request, MessageChannel& channel, SessionAcceptor& acceptor,
                      const EndpointOptions& endpoint, bool prints);

}  // namespace framewire
