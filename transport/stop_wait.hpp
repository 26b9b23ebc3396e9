// Cancels a wait before its deadline.
#pragma once

#include <poll.h>

namespace framewire {

/// A descriptor whose readiness cancels the wait. It stays ready: an eventfd that is signalled once and never cleared,
/// or the end of a connection. A value; the descriptor belongs to its owner and outlives the wait.
struct StopWait {
  int fd = -1;  // -1: only the deadline ends the wait
  short events = POLLIN;
  const char* why = "this end stops";  // for the error message
};

}  // namespace framewire
