// A viewer's subscription that lets the viewer pull: it reads frames from the pool. The sender counts none of them and
// does not wait for the viewer.
#pragma once

#include <memory>

#include "transport/link.hpp"
#include "transport/session/subscription.hpp"
#include "transport/stream.hpp"

namespace framewire {

/// `wake_event` as for make_push_subscription().
std::unique_ptr<Subscription> make_pull_subscription(Stream& stream, std::unique_ptr<ReadTarget> read_target,
                                                     SharedEvent wake_event);

}  // namespace framewire
