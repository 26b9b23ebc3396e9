#include "transport/rdma/connection_monitor.hpp"

#include <poll.h>

#include <array>
#include <utility>

#include "base/clock.hpp"
#include "base/wait.hpp"

namespace framewire {

namespace {

/// Together with the device's own timeout, half of --timeout, this detects a silent peer within a second.
constexpr std::int64_t tick_ns = 200 * ns_per_ms;

}  // namespace

ConnectionMonitor::ConnectionMonitor(RdmaConnection& connection, Callbacks callbacks)
    : connection_(connection), callbacks_(std::move(callbacks)), stop_event_(make_eventfd()) {
  thread_ = std::thread([this] { run(); });
}

ConnectionMonitor::~ConnectionMonitor() {
  signal_eventfd(stop_event_.get());
  thread_.join();
}

void ConnectionMonitor::run() noexcept {
  set_thread_name("fw-rdma-monitor");
  bool device_speaks = true;
  for (bool has_ended = false;;) {
    std::array descriptors{
        pollfd{.fd = stop_event_.get(), .events = POLLIN, .revents = 0},
        pollfd{.fd = has_ended ? -1 : connection_.event_descriptor(), .events = POLLIN, .revents = 0},
        pollfd{.fd = device_speaks ? connection_.device_event_descriptor() : -1, .events = POLLIN, .revents = 0}};
    wait_until(descriptors, monotonic_ns() + tick_ns);
    if (descriptors[0].revents != 0) {
      return;
    }
    if (descriptors[1].revents != 0) {
      if (const auto what = connection_.take_end()) {
        has_ended = true;
        callbacks_.on_end(*what);
        connection_.disconnect();  // answers the peer's disconnect, and flushes what is still posted
      }
    }
    // In every round, without poll(): another connection's monitor may have read an event of this connection.
    const bool has_heard = take_device_events();
    if (!has_heard && (descriptors[2].revents & ~POLLIN) != 0) {
      device_speaks = false;  // the device is gone, and its descriptor stays readable
    }
    callbacks_.on_tick();
  }
}

/// True when there was an event.
bool ConnectionMonitor::take_device_events() noexcept {
  try {
    const std::vector<DeviceEvent> events = connection_.take_device_events();
    for (const DeviceEvent& event : events) {
      callbacks_.on_device_event(event);
    }
    return !events.empty();
  } catch (const std::exception&) {
    return false;  // no memory for the log's message; a fatal event also fails the work requests
  }
}

}  // namespace framewire
