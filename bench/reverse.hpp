// A reverse row, in which the server sends: the client's part (receiving) and the server's part (sending).
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "bench/client.hpp"
#include "bench/row.hpp"
#include "transport/control/authenticate.hpp"
#include "transport/endpoint_options.hpp"
#include "transport/session/session_acceptor.hpp"

namespace framewire {

/// The client: asks the server to send one row, and measures it. Main thread. Throws Error, CannotBegin, Interrupted.
RowResult measure_reverse_row(const RowPlan& plan, const RowContext& context);

// ---- The server's part ----

/// Serves the row of `request`: accepts it, then runs a sender's session on the same channel, which it takes out of
/// `client`. The acceptor brings its data connection. Messages lie in `memory`. Prints the row on standard output if
/// `prints`. The caller's thread is the source; the session has a thread of its own. Throws Error.
void serve_reverse_row(const nlohmann::json& request, AuthenticatedChannel& client, SessionAcceptor& acceptor,
                       const EndpointOptions& endpoint, const MemoryKind& memory, bool prints);

}  // namespace framewire
