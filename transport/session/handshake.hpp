// The first words of a session, common to both ends.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "transport/control/message_channel.hpp"

namespace framewire {

/// Says who we are and hears who the peer is: returns its role, one of `welcome`. Throws Error (refused) when it has
/// another one, or when the two have no version in common: the sentence names both ends' roles or versions.
std::string exchange_hellos(MessageChannel& channel, const std::string& role, const std::string& program,
                            const std::vector<std::string_view>& welcome);

/// Tells the peer the sentence and throws it as Error (refused).
[[noreturn]] void refuse(MessageChannel& channel, const std::string& sentence);

}  // namespace framewire
