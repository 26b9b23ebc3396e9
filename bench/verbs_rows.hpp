// The measuring end of raw measurements.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "bench/client.hpp"
#include "bench/row.hpp"
#include "transport/control/message_channel.hpp"
#include "transport/endpoint_options.hpp"
#include "transport/session/session_acceptor.hpp"

namespace framewire {

/// Measures one row of the verbs against the server. Any thread. Throws Error, CannotBegin, Interrupted.
RowResult measure_verbs_row(const RowPlan& plan, const RowContext& context);

// The answering end of raw measurements.

/// Serves the row that `request` asks for, to a client that has said hello. Prints it on standard output if `prints`.
/// Throws Error; of those that are refused the client has been told.
void serve_verbs_row(const nlohmann::json& request, MessageChannel& channel, SessionAcceptor& acceptor,
                     const EndpointOptions& endpoint, bool prints);

}  // namespace framewire
