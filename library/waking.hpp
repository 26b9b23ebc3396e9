// One descriptor for a program's event loop, made of several.
#pragma once

#include <sys/epoll.h>

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <initializer_list>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/file_descriptor.hpp"
#include "base/saturating.hpp"

namespace framewire {

/// Readable while one of `descriptors` is. These stay open as long as it lives.
inline FileDescriptor any_of(std::initializer_list<int> descriptors) {
  FileDescriptor poller(::epoll_create1(EPOLL_CLOEXEC));
  if (!poller.valid()) {
    throw Error::from_errno("create an epoll descriptor", errno);
  }
  for (const int fd : descriptors) {
    epoll_event event{};
    event.events = EPOLLIN;
    if (::epoll_ctl(poller.get(), EPOLL_CTL_ADD, fd, &event) != 0) {
      throw Error::from_errno("watch a descriptor", errno);
    }
  }
  return poller;
}

/// A timeout of the C interface as a deadline.
inline std::int64_t deadline_of(std::int64_t timeout_ns) noexcept {
  if (timeout_ns < 0) {
    return INT64_MAX;
  }
  return timeout_ns == 0 ? 0 : saturating_add(monotonic_ns(), timeout_ns);
}

/// A request to end one wait, which stays until a wait takes it.
class WakeRequest {
 public:
  void set() noexcept { is_set_.store(true); }
  [[nodiscard]] bool take() noexcept { return is_set_.exchange(false); }

 private:
  std::atomic<bool> is_set_ = false;
};

}  // namespace framewire
