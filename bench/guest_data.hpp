// The data connection of a guest's row, at the server.
#pragma once

#include "transport/control/message_channel.hpp"
#include "transport/session/door.hpp"

namespace framewire {

/// Waits for what the client dials, by the token that it was told. Throws Error where it does not come, or the client
/// says something else.
Arrival await_guest_data(Door& door, const DataConnection& connection, MessageChannel& channel);

}  // namespace framewire
