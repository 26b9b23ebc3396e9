// Notices that a peer is gone when nothing is under way that would tell.
#pragma once

#include <functional>
#include <string>
#include <thread>

#include "base/file_descriptor.hpp"
#include "transport/rdma/connection.hpp"

namespace framewire {

/// Has one thread ("fw-rdma-monitor") that hears the connection manager and the device, and a few times a second asks
/// the link to look after itself. A peer that ended is heard of at once; one whose host is gone only by a request that
/// nobody answers.
class ConnectionMonitor {
 public:
  struct Callbacks {
    std::function<void(const std::string& what)> on_end;  // "closed its RDMA connection": the sentence goes on so
    std::function<void(const DeviceEvent& event)> on_device_event;
    std::function<void()> on_tick;
  };

  /// All calls come from the watch's thread, until the destructor has returned. The connection outlives it. Throws.
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
