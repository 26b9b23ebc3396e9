// What ends a wait before its deadline.
#pragma once

#include <poll.h>

namespace framewire {

/// The readiness of a descriptor, which stays ready: an event that is raised once and not cleared, or the end of a
/// connection. A value; the descriptor is its owner's, and outlives the wait.
struct StopWait {
  int fd = -1;  // none: nothing but the deadline ends the wait
  short events = POLLIN;
  const char* why = "this end stops";  // for the sentence of the error
};

}  // namespace framewire
