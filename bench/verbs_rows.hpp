// Rows of verbs: an RDMA device measured without a link. The client's part (measuring) and the server's part.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "bench/client.hpp"
#include "bench/row.hpp"
#include "transport/control/message_channel.hpp"
#include "transport/endpoint_options.hpp"
#include "transport/session/session_acceptor.hpp"

namespace framewire {

/// Measures one row of verbs against the server. Any thread. Throws Error, CannotBegin, Interrupted.
RowResult measure_verbs_row(const RowPlan& plan, const RowContext& context);

// ---- The server's part ----

/// Serves the row of `request`, after the client's hello. Prints it on standard output if `prints`. Throws Error; the
/// client has already been told of a refused request.
void serve_verbs_row(const nlohmann::json& request, MessageChannel& channel, SessionAcceptor& acceptor,
                     const EndpointOptions& endpoint, bool prints);

}  // namespace framewire
