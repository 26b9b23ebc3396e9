// The receiving end of a benchmark: takes everything that comes, and measures.
#pragma once

#include <atomic>

#include "base/log.hpp"
#include "bench/row.hpp"
#include "transport/control/authenticate.hpp"
#include "transport/endpoint_options.hpp"
#include "transport/session/session_acceptor.hpp"

namespace framewire {

/// Serves one row after another until `stop`. `port_pipe` (or -1) gets the port as text, for a client that started this
/// server. Main thread of its process. Throws Error.
void serve_rows(const EndpointOptions& endpoint, int port_pipe, const std::atomic<bool>& stop, bool prints, Log& log);

// What a bench server does for clients that say hello as `bench`: rows that a session by itself cannot have.

/// Serves one row, of verbs, of plain sockets or in reverse, to a client that has said hello: a bench server's
/// ServeClient. What goes wrong is told to the client and to the log; one that asks for nothing and leaves has only
/// looked whether there is a server. Prints the row on standard output if `prints`.
void serve_bench_row(AuthenticatedChannel& client, SessionAcceptor& acceptor, const EndpointOptions& endpoint,
                     bool prints, Log& log) noexcept;

}  // namespace framewire
