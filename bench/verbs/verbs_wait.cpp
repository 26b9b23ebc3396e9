#include "bench/verbs/verbs_wait.hpp"

#include <poll.h>

#include <algorithm>
#include <array>

#include "base/error.hpp"
#include "base/wait.hpp"

namespace framewire {

namespace {

constexpr std::int64_t poll_interval_ns = 50 * ns_per_ms;

}  // namespace

VerbsWait::VerbsWait(ConnectedQueuePair& connection, WaitMode mode, const VerbsControl& control)
    : connection_(connection), mode_(mode), control_(control) {}

void VerbsWait::poll_control_if_due(std::int64_t now_ns) {
  if (now_ns >= next_poll_ns_) {
    next_poll_ns_ = now_ns + poll_interval_ns;
    if (const auto total = control_.poll_control()) {
      total_ = total;
    }
  }
}

void VerbsWait::found(std::int64_t now_ns) noexcept {
  spin_.found(now_ns);
  is_armed_ = false;
}

void VerbsWait::idle(std::int64_t now_ns) {
  if (spin_.poll_again(mode_, now_ns)) {
    AdaptiveSpin::pause(mode_);
    return;
  }
  if (is_armed_) {
    wait_for_either(now_ns + poll_interval_ns, connection_.completion_descriptor());
    connection_.take_notifications();
    is_armed_ = false;
    return;
  }
  if (!connection_.request_notification()) {
    throw Error::lost_peer("the RDMA device is gone");
  }
  is_armed_ = true;  // earlier completions are not reported: poll once more first
}

void VerbsWait::sleep(std::int64_t due_ns) {
  const std::int64_t now_ns = monotonic_ns();
  wait_for_either(std::min(due_ns, now_ns + poll_interval_ns), -1);
  poll_control_if_due(monotonic_ns());
}

void VerbsWait::wait_for_either(std::int64_t deadline_ns, int completions) {
  std::array descriptors{pollfd{.fd = completions, .events = POLLIN, .revents = 0},
                         pollfd{.fd = control_.descriptor, .events = POLLIN, .revents = 0}};
  wait_until(descriptors, deadline_ns);
  if (descriptors[1].revents != 0) {
    next_poll_ns_ = 0;
  }
}

}  // namespace framewire
