// The measuring end of raw measurements.
#pragma once

#include "bench/row.hpp"
#include "transport/endpoint_options.hpp"

namespace framewire {

/// Measures one row of the verbs against the server that `endpoint` dials. Any thread. Throws Error; CannotBegin where
/// there is a server, but no RDMA to it.
RowResult measure_verbs_row(const RowPlan& plan, const EndpointOptions& endpoint);

}  // namespace framewire
