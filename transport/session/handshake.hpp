// The first words of a session, common to both ends.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "transport/control/message_channel.hpp"

namespace framewire {

/// Says who we are and hears who the peer is: returns its role, one of `welcome`. Throws Error (refused) when it has
/// another one, or when the two have no version in common: the sentence names both ends' roles or versions.
std::string exchange_hellos(MessageChannel& channel, const std::string& role, const std::string& program,
                            const std::vector<std::string_view>& welcome);

/// One of the messages that a step of the handshake waits for, all of them until the same deadline: a peer that goes on
/// saying something else has no more time than a silent one. Throws Error (lost_peer), also where a message is there
/// already behind the deadline.
nlohmann::json receive_in_step(MessageChannel& channel, std::int64_t deadline_ns);

/// Tells the peer the sentence and throws it as Error (refused).
[[noreturn]] void refuse(MessageChannel& channel, const std::string& message);

}  // namespace framewire
