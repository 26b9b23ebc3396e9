#include "transport/rdma/raw_wait.hpp"

#include <poll.h>

#include <algorithm>
#include <array>

#include "base/clock.hpp"
#include "base/wait.hpp"

namespace framewire {

namespace {

constexpr std::int64_t between_looks_ns = 50 * ns_per_ms;

}  // namespace

RawWait::RawWait(RdmaConnection& connection, WaitMode mode, const RawNews& news)
    : connection_(connection), mode_(mode), news_(news) {}

void RawWait::look_if_due(std::int64_t now_ns) {
  if (now_ns >= next_look_ns_) {
    next_look_ns_ = now_ns + between_looks_ns;
    if (const auto total = news_.look()) {
      total_ = total;
    }
  }
}

void RawWait::found(std::int64_t now_ns) noexcept {
  spin_.found(now_ns);
  is_armed_ = false;
}

void RawWait::idle(std::int64_t now_ns) {
  if (spin_.look_again(mode_, now_ns)) {
    spin_.pause(mode_);
    return;
  }
  if (is_armed_) {
    wait_for_either(now_ns + between_looks_ns, connection_.completion_descriptor());
    connection_.take_notifications();
    is_armed_ = false;
    return;
  }
  if (!connection_.request_notification()) {
    throw Error::lost_peer("the RDMA device is gone");
  }
  is_armed_ = true;  // what completed before will not be told of: first another look
}

void RawWait::sleep(std::int64_t due_ns) {
  const std::int64_t now_ns = monotonic_ns();
  wait_for_either(std::min(due_ns, now_ns + between_looks_ns), -1);
  look_if_due(monotonic_ns());
}

void RawWait::wait_for_either(std::int64_t deadline_ns, int completions) {
  std::array descriptors{pollfd{.fd = completions, .events = POLLIN, .revents = 0},
                         pollfd{.fd = news_.descriptor, .events = POLLIN, .revents = 0}};
  wait_until(descriptors, deadline_ns);
  if (descriptors[1].revents != 0) {
    next_look_ns_ = 0;
  }
}

}  // namespace framewire
