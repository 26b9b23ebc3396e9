// The receiving end of a row in reverse.
#pragma once

#include "base/log.hpp"
#include "bench/row.hpp"
#include "transport/endpoint_options.hpp"

namespace framewire {

/// Asks the server that `endpoint` dials to send one row, and measures it. Main thread. Throws Error; CannotBegin where
/// there is a server, but the row cannot begin.
RowResult measure_reverse_row(const RowPlan& plan, const EndpointOptions& endpoint, Log& log);

}  // namespace framewire
