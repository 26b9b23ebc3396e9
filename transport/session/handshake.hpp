// The first messages of a session, common to both sides.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "transport/control/message_channel.hpp"
#include "transport/session/messages.hpp"

namespace framewire {

/// Sends our hello and receives the peer's, whose role is one of `welcome`. Throws Error (refused) for another role and
/// when both have no protocol version in common; the message names both roles or versions.
HelloMessage exchange_hellos(MessageChannel& channel, const std::string& role, const std::string& program,
                             const std::vector<std::string_view>& welcome);

/// Receives one message of a handshake step. All messages of the step share one deadline, so a peer that sends other
/// messages gets no more time than a silent one. Throws Error (lost_peer) after the deadline, even if a message is
/// already buffered.
nlohmann::json receive_in_step(MessageChannel& channel, std::int64_t deadline_ns);

/// For a step that failed on another connection. If the peer has ended this one and said why, throws that as Error
/// (refused).
void throw_if_told_why(MessageChannel& channel);

/// Sends `message` to the peer and throws it as Error (refused).
[[noreturn]] void refuse(MessageChannel& channel, const std::string& message);

}  // namespace framewire
