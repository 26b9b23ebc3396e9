// Where RDMA connections come in.
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

/// Has one thread ("fw-rdma-accept") that hears requests. Whoever asks gets nothing, neither queue pair nor memory,
/// until the owner has found the request to belong to a session.
class RdmaListener {
 public:
  /// Called on the listener's thread with what the dialling side said; a request that is dropped is rejected.
  using OnRequest =
      std::function<void(RdmaConnectRequest request, std::span<const std::byte> hello, const std::string& from)>;

  /// Listens at those of the addresses that belong to an RDMA device, all with one port: `port`, or where that is taken
  /// another one. Throws Error (failed) when none of them does, with the reason of the last.
  RdmaListener(std::span<const sockaddr_storage> addresses, std::uint16_t port, OnRequest on_request);
  ~RdmaListener();
  RdmaListener(const RdmaListener&) = delete;
  RdmaListener& operator=(const RdmaListener&) = delete;

  /// 0 when the last of its devices has been removed. Any thread.
  [[nodiscard]] std::uint16_t port() const noexcept { return port_; }
  /// Those that connections can be made to: where it listens at all of them, what the devices have now. Any thread.
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
  std::vector<VerbsPtr<rdma_cm_id>> ids_;  // the listener's thread's, once that runs
  std::vector<sockaddr_storage> places_;   // of them all, as they began
  std::atomic<std::uint16_t> port_;
  FileDescriptor stop_event_;
  std::thread thread_;
};

}  // namespace framewire
