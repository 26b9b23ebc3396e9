// Notices that a peer is gone when nothing is under way that would tell.
#pragma once

#include <functional>
#include <string>
#include <thread>

#include "base/file_descriptor.hpp"
#include "transport/rdma/connection.hpp"

namespace framewire {

/// Has one thread ("fw-rdma-watch") that hears the connection manager and the device, and a few times a second asks the
/// link to look after itself. A peer that ended is heard of at once; one whose host is gone only by a request that
/// nobody answers.
class RdmaWatch {
 public:
  struct Calls {
    std::function<void(const std::string& what)> on_end;  // "closed its RDMA connection": the sentence goes on so
    std::function<void(const DeviceEvent& event)> on_device_event;
    std::function<void()> on_tick;
  };

  /// All calls come from the watch's thread, until the destructor has returned. The connection outlives it. Throws.
  RdmaWatch(RdmaConnection& connection, Calls calls);
  ~RdmaWatch();
  RdmaWatch(const RdmaWatch&) = delete;
  RdmaWatch& operator=(const RdmaWatch&) = delete;

 private:
  void watch() noexcept;
  bool take_device_events() noexcept;

  RdmaConnection& connection_;
  const Calls calls_;
  FileDescriptor stop_event_;
  std::thread thread_;
};

}  // namespace framewire
