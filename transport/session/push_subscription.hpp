// A viewer's subscription that pushes the stream's frames to a link.
#pragma once

#include <memory>

#include "transport/link.hpp"
#include "transport/session/subscription.hpp"
#include "transport/stream.hpp"

namespace framewire {

/// `wake_event` is signalled when there is an epoch to announce, or at the stream's end.
std::unique_ptr<Subscription> make_push_subscription(Stream& stream, std::unique_ptr<SenderLink> link,
                                                     Delivery delivery, SharedEvent wake_event);

}  // namespace framewire
