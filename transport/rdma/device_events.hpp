// What a device says unasked: asynchronous events, of a queue or of the whole device.
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

  /// What a person reads: ibv_event_type_str().
  [[nodiscard]] std::string text() const { return ibv_event_type_str(type); }
  /// Nothing that is under way will complete.
  [[nodiscard]] bool is_fatal() const noexcept;
  [[nodiscard]] LogLevel level() const noexcept;
};

/// The events of one connection. All connections of a process over one device read them from the same descriptor:
/// whoever finds one of another connection hands it over, by the context that its queues were made with, which is the
/// address of that connection's DeviceEvents. It outlives them: the library destroys none while an event of it is being
/// looked at. An event of the whole device comes to one of the connections only.
class DeviceEvents {
 public:
  DeviceEvents() = default;
  DeviceEvents(const DeviceEvents&) = delete;
  DeviceEvents& operator=(const DeviceEvents&) = delete;

  /// Reads all that there is, and returns what is for this connection. Does not wait, where the descriptor is
  /// non-blocking. One thread; others may do the same for theirs.
  std::vector<DeviceEvent> take(ibv_context& device);

 private:
  std::atomic<std::uint64_t> pending_ = 0;  // one bit for each type
};

}  // namespace framewire
