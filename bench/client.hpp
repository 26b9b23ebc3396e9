// The sending end of a benchmark.
#pragma once

#include "base/log.hpp"
#include "bench/row.hpp"
#include "transport/endpoint_options.hpp"

namespace framewire {

/// Measures one row against the server that `endpoint` dials. Any thread. Throws Error.
RowResult measure_row(const RowPlan& plan, const EndpointOptions& endpoint, Log& log);

}  // namespace framewire
