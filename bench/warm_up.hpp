// What goes before the messages of a link's row.
#pragma once

#include "bench/row.hpp"
#include "transport/stream.hpp"

namespace framewire {

/// Sends messages that count for nothing, and returns when the receiver has its ring and the way there is empty but for
/// a few bytes: setting up belongs to no message. False when the receiver has left. The source's thread, once.
bool warm_up(Stream& stream, const RowPlan& plan);

}  // namespace framewire
