#include "base/wait.hpp"

#include <pthread.h>

#include <algorithm>
#include <cerrno>
#include <ctime>
#include <string>

#include "base/clock.hpp"
#include "base/error.hpp"

namespace framewire {

int wait_until(std::span<pollfd> descriptors, std::int64_t deadline_ns) noexcept {
  for (;;) {
    const std::int64_t left_ns = std::max<std::int64_t>(0, deadline_ns - monotonic_ns());
    const timespec timeout{.tv_sec = left_ns / ns_per_s, .tv_nsec = left_ns % ns_per_s};
    const int ready = ::ppoll(descriptors.data(), descriptors.size(), &timeout, nullptr);
    if (ready >= 0) {
      return ready;
    }
    if (errno != EINTR || left_ns == 0) {
      return 0;
    }
  }
}

bool wait_for(int fd, short events, std::int64_t deadline_ns) noexcept {
  pollfd descriptor{.fd = fd, .events = events, .revents = 0};
  return wait_until({&descriptor, 1}, deadline_ns) > 0;
}

void wait_or_throw(int fd, short events, std::int64_t deadline_ns, std::string_view message) {
  if (!wait_for(fd, events, deadline_ns) && monotonic_ns() >= deadline_ns) {
    throw Error::lost_peer(std::string(message));
  }
}

void set_thread_name(const char* name) noexcept {
  ::pthread_setname_np(::pthread_self(), name);
}

}  // namespace framewire
