#include "base/timer.hpp"

#include <sys/timerfd.h>

#include <cerrno>

#include "base/clock.hpp"
#include "base/error.hpp"

namespace framewire {

FileDescriptor make_timer() {
  auto timer = FileDescriptor::from([] { return ::timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC); });
  if (!timer.valid()) {
    throw Error::from_errno("make a timer", errno);
  }
  return timer;
}

void set_timer(int timer_fd, std::int64_t at_ns) noexcept {
  const itimerspec when{.it_interval = {}, .it_value = {.tv_sec = at_ns / ns_per_s, .tv_nsec = at_ns % ns_per_s}};
  ::timerfd_settime(timer_fd, TFD_TIMER_ABSTIME, &when, nullptr);
}

}  // namespace framewire
