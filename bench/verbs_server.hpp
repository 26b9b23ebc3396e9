// The answering end of raw measurements.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "transport/control/message_channel.hpp"
#include "transport/endpoint_options.hpp"
#include "transport/session/session_acceptor.hpp"

namespace framewire {

/// Serves the row that `request` asks for, to a client that has said hello. Prints it on standard output if `prints`.
/// Throws Error; of those that are refused the client has been told.
void serve_verbs_row(const nlohmann::json& request, MessageChannel& channel, SessionAcceptor& acceptor,
                     const EndpointOptions& endpoint, bool prints);

}  // namespace framewire
