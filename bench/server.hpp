// The bench server: receives and measures rows, and serves rows that have no session.
#pragma once

#include <atomic>
#include <string>

#include "base/log.hpp"
#include "bench/row.hpp"
#include "memory/host_block.hpp"
#include "transport/control/authenticate.hpp"
#include "transport/endpoint_options.hpp"
#include "transport/session/session_acceptor.hpp"

namespace framewire {

struct BenchServerOptions {
  EndpointOptions endpoint;
  std::string interface {};                   // of rows over XDP; empty: none
  const MemoryKind* memory = &host_memory();  // of the messages of links, if these take it; outlives the server
  bool prints = false;                        // each row, on standard output
};

/// Serves one row after another until `stop`. Writes the port as text to `port_pipe` (-1: none), for a client that
/// started this server. Main thread of its process. Throws Error.
void serve_rows(const BenchServerOptions& options, int port_pipe, const std::atomic<bool>& stop, Log& log);

// ---- Clients that say hello as `bench`: rows that a session alone cannot measure ----

/// Serves one row of verbs, of plain sockets, over XDP or in reverse, after the client's hello: a bench server's
/// ServeClient. Errors go to the client and to the log. A client that leaves without a request has only tested whether
/// there is a server.
void serve_bench_row(AuthenticatedChannel& client, SessionAcceptor& acceptor, const BenchServerOptions& options,
                     Log& log) noexcept;

}  // namespace framewire
