// The first words of a session, common to both ends.
#pragma once

#include <string>

#include "transport/control/message_channel.hpp"

namespace framewire {

/// Says who we are and hears who the peer is. Throws Error (refused) when both are senders or both viewers, or when the
/// two have no version in common: the sentence names both ends' versions.
void exchange_hellos(MessageChannel& channel, const std::string& role, const std::string& program);

/// Tells the peer the sentence and throws it as Error (refused).
[[noreturn]] void refuse(MessageChannel& channel, const std::string& sentence);

}  // namespace framewire
