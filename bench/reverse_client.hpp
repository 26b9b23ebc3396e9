// The receiving end of a row in reverse.
#pragma once

#include "bench/client.hpp"
#include "bench/row.hpp"

namespace framewire {

/// Asks the server to send one row, and measures it. Main thread. Throws Error, CannotBegin, Interrupted.
RowResult measure_reverse_row(const RowPlan& plan, const RowContext& context);

}  // namespace framewire
