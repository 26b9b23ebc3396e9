// Rows of messages in Ethernet frames over AF_XDP between two machines, and what rows over a virtual cable
// (bench/veth_rows.hpp) share with them. bench/protocol.hpp has the messages, bench/xdp/ the sockets.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "bench/client.hpp"
#include "bench/row.hpp"
#include "bench/xdp/frame_port.hpp"
#include "transport/control/message_channel.hpp"
#include "transport/endpoint_options.hpp"

namespace framewire {

// ---- Between two machines ----

/// Sends the plan's messages from the plan's interface to that of the context's server, which must be on the same
/// Ethernet. Main thread. Throws Error, CannotBegin, Interrupted.
RowResult measure_xdp_row(const RowPlan& plan, const RowContext& context);

/// Serves the row of `request`, after the client's hello, over this interface; empty: refuses. Prints the row on
/// standard output if `prints`. Throws Error; the client has already been told of a refused request.
void serve_xdp_row(const nlohmann::json& request, MessageChannel& channel, const EndpointOptions& endpoint,
                   const std::string& interface, bool prints);

// ---- The two sides, on any control channel, in the calling thread's network namespace ----

/// `request`: the first message, from which the server reads the plan.
RowResult send_xdp_row(const RowPlan& plan, const ServerConnection& server, const nlohmann::json& request);
/// Returns the result after sending it.
SideResult receive_xdp_row(const RowPlan& plan, MessageChannel& channel, std::int64_t peer_timeout_ns);

/// The parts of both when the ports are there. `frame_bytes`: what both ports have room for.
RowResult send_row_of_frames(const RowPlan& plan, FramePort& port, std::size_t frame_bytes,
                             const ServerConnection& server);
SideResult receive_row_of_frames(const RowPlan& plan, FramePort& port, std::size_t frame_bytes, MessageChannel& channel,
                                 std::int64_t peer_timeout_ns);

}  // namespace framewire
