// Listens for RDMA connections.
#pragma once

#include <sys/socket.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "base/file_descriptor.hpp"
#include "transport/rdma/connection.hpp"

namespace framewire {

/// Has one thread ("fw-rdma-accept") that receives connection requests. A request gets neither QP nor memory until the
/// owner has matched it to a session.
class RdmaListener {
 public:
  /// Called on the listener's thread with the dialling side's private data. A request that is destroyed is rejected.
  using OnRequest =
      std::function<void(RdmaConnectRequest request, std::span<const std::byte> hello, const std::string& from)>;

  /// Listens at those `addresses` that belong to an RDMA device, all on one port: `port`, or a free one when `port` is
  /// taken. Throws Error (failed) with the last address's reason when it can listen at none.
  RdmaListener(std::span<const sockaddr_storage> addresses, std::uint16_t port, OnRequest on_request);
  ~RdmaListener();
  RdmaListener(const RdmaListener&) = delete;
  RdmaListener& operator=(const RdmaListener&) = delete;

  /// 0 after its last device has been removed. Any thread.
  [[nodiscard]] std::uint16_t port() const noexcept { return port_; }
  /// The addresses that it can be reached at. A listener on all addresses returns the addresses that the devices have
  /// now. Any thread.
  [[nodiscard]] std::vector<std::string> addresses() const;

 private:
  int listen_at_all(std::span<const sockaddr_storage> addresses);
  int try_to_listen(sockaddr_storage address);
  [[nodiscard]] bool has_all_of_ipv6() const noexcept;
  void listen_loop() noexcept;
  void take_events();
  void take_request(VerbsPtr<rdma_cm_event> event);
  void drop_id(const rdma_cm_id* id) noexcept;

  OnRequest on_request_;
  std::shared_ptr<rdma_event_channel> events_;
  std::vector<VerbsPtr<rdma_cm_id>> ids_;  // used by the listener's thread once it runs
  std::vector<sockaddr_storage> places_;   // their addresses at the start
  std::atomic<std::uint16_t> port_;
  FileDescriptor stop_event_;
  std::thread thread_;
};

}  // namespace framewire
