// Notices that a peer is gone while no work request is in flight.
#pragma once

#include <functional>
#include <string>
#include <thread>

#include "base/file_descriptor.hpp"
#include "transport/rdma/connection.hpp"

namespace framewire {

/// Has one thread ("fw-rdma-monitor"). It reads the events of rdma_cm and of the device, and calls on_tick a few times
/// a second. A peer that ends is noticed at once. A peer whose host is gone is noticed only by a work request that is
/// not acknowledged, which on_tick can post.
class ConnectionMonitor {
 public:
  struct Callbacks {
    std::function<void(const std::string& what)> on_end;  // follows "the viewer " in a message
    std::function<void(const DeviceEvent& event)> on_device_event;
    std::function<void()> on_tick;
  };

  /// All callbacks run on the monitor's thread, until the destructor has returned. `connection` outlives this. Throws
  /// Error.
  ConnectionMonitor(RdmaConnection& connection, Callbacks callbacks);
  ~ConnectionMonitor();
  ConnectionMonitor(const ConnectionMonitor&) = delete;
  ConnectionMonitor& operator=(const ConnectionMonitor&) = delete;

 private:
  void run() noexcept;
  bool take_device_events() noexcept;

  RdmaConnection& connection_;
  const Callbacks callbacks_;
  FileDescriptor stop_event_;
  std::thread thread_;
};

}  // namespace framewire
