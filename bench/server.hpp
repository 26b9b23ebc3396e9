// The bench server: receives and measures rows, and serves rows that have no session.
#pragma once

#include <atomic>
#include <string>

#include "base/log.hpp"
#include "bench/row.hpp"
#include "transport/control/authenticate.hpp"
#include "transport/endpoint_options.hpp"
#include "transport/session/session_acceptor.hpp"

namespace framewire {

/// Serves one row after another until `stop`; rows over XDP by `interface` (empty: none). Writes the port as text to
/// `port_pipe` (-1: none), for a client that started this server. Main thread of its process. Throws Error.
void serve_rows(const EndpointOptions& endpoint, const std::string& interface, int port_pipe,
                const std::atomic<bool>& stop, bool prints, Log& log);

// ---- Clients that say hello as `bench`: rows that a session alone cannot measure ----

/// Serves one row of verbs, of plain sockets, over XDP or in reverse, after the client's hello: a bench server's
/// ServeClient. Errors go to the client and to the log. A client that leaves without a request has only tested whether
/// there is a server. Prints the row on standard output if `prints`.
void serve_bench_row(AuthenticatedChannel& client, SessionAcceptor& acceptor, const EndpointOptions& endpoint,
                     const std::string& interface, bool prints, Log& log) noexcept;

}  // namespace framewire
