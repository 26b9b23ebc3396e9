// One descriptor for a program's event loop, made of several.
#pragma once

#include <sys/epoll.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <initializer_list>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/file_descriptor.hpp"
#include "base/saturating.hpp"

namespace framewire {

/// Readable while one of `descriptors` is. These stay open as long as it lives.
inline FileDescriptor any_of(std::initializer_list<int> descriptors) {
  auto poller = FileDescriptor::from([] { return ::epoll_create1(EPOLL_CLOEXEC); });
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

/// Requests to end one wait each. They stay until a wait takes them: one for each thread that waits, or one if none
/// does. add() may be called by a signal handler.
class WakeRequests {
 public:
  void add() noexcept {
    std::size_t before = count_.load();
    while (!count_.compare_exchange_weak(before, std::min(before + 1, std::max<std::size_t>(waiting_.load(), 1)))) {
    }
  }
  [[nodiscard]] bool take() noexcept {
    std::size_t before = count_.load();
    while (before > 0 && !count_.compare_exchange_weak(before, before - 1)) {
    }
    return before > 0;
  }

  /// While it lives, one thread more waits.
  class Waiting {
   public:
    explicit Waiting(WakeRequests& requests) noexcept : requests_(requests) { ++requests_.waiting_; }
    ~Waiting() { --requests_.waiting_; }
    Waiting(const Waiting&) = delete;
    Waiting& operator=(const Waiting&) = delete;

   private:
    WakeRequests& requests_;
  };

 private:
  static_assert(std::atomic<std::size_t>::is_always_lock_free);
  std::atomic<std::size_t> count_ = 0;
  std::atomic<std::size_t> waiting_ = 0;
};

}  // namespace framewire
