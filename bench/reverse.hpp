// The receiving end of a row in reverse.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "bench/client.hpp"
#include "bench/row.hpp"
#include "transport/control/authenticate.hpp"
#include "transport/endpoint_options.hpp"
#include "transport/session/session_acceptor.hpp"

namespace framewire {

/// Asks the server to send one row, and measures it. Main thread. Throws Error, CannotBegin, Interrupted.
RowResult measure_reverse_row(const RowPlan& plan, const RowContext& context);

// A bench server that sends: the other way of a row.

/// Serves the row that `request` asks for: says that it will, and is then the sender of a session on the same channel,
/// which it takes out of `client`. Its data connection comes by the acceptor. Prints the row on standard output if
/// `prints`. The caller's thread is the source, and one of its own the session. Throws Error.
void serve_reverse_row(const nlohmann::json& request, AuthenticatedChannel& client, SessionAcceptor& acceptor,
                       const EndpointOptions& endpoint, bool prints);

}  // namespace framewire
