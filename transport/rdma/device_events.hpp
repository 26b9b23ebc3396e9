// Asynchronous events of a device, a completion queue or a QP.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

#include "base/log.hpp"
#include "transport/rdma/verbs.hpp"

namespace framewire {

struct DeviceEvent {
  ibv_event_type type = IBV_EVENT_DEVICE_FATAL;

  /// ibv_event_type_str().
  [[nodiscard]] std::string text() const { return ibv_event_type_str(type); }
  /// No work request in flight will complete.
  [[nodiscard]] bool is_fatal() const noexcept;
  [[nodiscard]] LogLevel level() const noexcept;
};

/// The events of one connection. All connections of a process over one device read the same descriptor. Whichever reads
/// an event of another connection passes it on: the queues' context is the address of that connection's DeviceEvents.
/// This object outlives its queues, because the library destroys no queue while one of its events is unacknowledged. An
/// event of the whole device reaches only one of the connections.
class DeviceEvents {
 public:
  DeviceEvents() = default;
  DeviceEvents(const DeviceEvents&) = delete;
  DeviceEvents& operator=(const DeviceEvents&) = delete;

  /// Reads all pending events, and returns those of this connection. Does not wait when the descriptor is non-blocking.
  /// One thread for each object.
  std::vector<DeviceEvent> take(ibv_context& device);

 private:
  std::atomic<std::uint64_t> pending_ = 0;  // one bit for each type
};

}  // namespace framewire
