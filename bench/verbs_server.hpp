// The answering end of raw measurements.
#pragma once

#include "base/log.hpp"
#include "bench/row.hpp"
#include "transport/control/authenticate.hpp"
#include "transport/endpoint_options.hpp"
#include "transport/session/door.hpp"

namespace framewire {

/// Serves one row to a client that has said hello: a bench server's ServeGuest. What goes wrong is told to the client
/// and to the log. Prints the row on standard output if `prints`.
void serve_verbs_row(Authenticated& client, Door& door, const EndpointOptions& endpoint, bool prints,
                     Log& log) noexcept;

}  // namespace framewire
