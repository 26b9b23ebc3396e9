// The measuring end of raw measurements.
#pragma once

#include "bench/client.hpp"
#include "bench/row.hpp"

namespace framewire {

/// Measures one row of the verbs against the server. Any thread. Throws Error, CannotBegin, Interrupted.
RowResult measure_verbs_row(const RowPlan& plan, const RowContext& context);

}  // namespace framewire
