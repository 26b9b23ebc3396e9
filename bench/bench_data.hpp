// The data connection of a client's row, at the server.
#pragma once

#include "transport/control/message_channel.hpp"
#include "transport/session/session_acceptor.hpp"

namespace framewire {

/// Waits for what the client dials, by the token that it was told. Throws Error where it does not come, or the client
/// says something else.
IncomingDataConnection await_bench_data(SessionAcceptor& acceptor, const DataConnectionId& connection,
                                        MessageChannel& channel);

}  // namespace framewire
