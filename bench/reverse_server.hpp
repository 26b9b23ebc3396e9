// A bench server that sends: the other way of a row.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "transport/control/authenticate.hpp"
#include "transport/endpoint_options.hpp"
#include "transport/session/session_acceptor.hpp"

namespace framewire {

/// Serves the row that `request` asks for: says that it will, and is then the sender of a session on the same channel,
/// which it takes out of `client`. Its data connection comes by the acceptor. Prints the row on standard output if
/// `prints`. The caller's thread is the source, and one of its own the session. Throws Error.
void serve_reverse_row(const nlohmann::json& request, AuthenticatedChannel& client, SessionAcceptor& acceptor,
                       const EndpointOptions& endpoint, bool prints);

}  // namespace framewire
