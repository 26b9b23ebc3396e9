// The receiving end of a benchmark: takes everything that comes, and measures.
#pragma once

#include <atomic>

#include "base/log.hpp"
#include "bench/row.hpp"
#include "transport/endpoint_options.hpp"

namespace framewire {

/// Serves one row after another until `stop`. `port_pipe` (or -1) gets the port as text, for a client that started this
/// server. Main thread of its process. Throws Error.
void serve_rows(const EndpointOptions& endpoint, int port_pipe, const std::atomic<bool>& stop, bool prints, Log& log);

}  // namespace framewire
