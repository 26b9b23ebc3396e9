// The sending end of a link's row, whichever of the two ends that is.
#pragma once

#include <cstdint>

#include "bench/row.hpp"
#include "transport/stream.hpp"

namespace framewire {

/// For the one viewer of a row.
StreamOptions stream_options_of(const RowPlan& plan);

/// Publishes messages until the plan is fulfilled or the stream stops; says how many, and in which
/// time they went. The epoch has begun and warm_up() is over; the stream is not finished. The source's thread.
EndResult send_messages(Stream& stream, const RowPlan& plan);

}  // namespace framewire
