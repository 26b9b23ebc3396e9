#include "base/socket_wait.hpp"

#include <string>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/wait.hpp"

namespace framewire {

void wait_or_throw(int fd, short events, std::int64_t deadline_ns, std::string_view message) {
  if (!wait_for(fd, events, deadline_ns) && monotonic_ns() >= deadline_ns) {
    throw Error::lost_peer(std::string(message));
  }
}

}  // namespace framewire
