// One connected queue pair (QP), from dialling or accepting to its end. It combines the connection manager's part
// (connection_manager.hpp) and the queues (queue_pair.hpp).
#pragma once

#include <sys/socket.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/log.hpp"
#include "transport/rdma/connection_manager.hpp"
#include "transport/rdma/device_events.hpp"
#include "transport/rdma/options.hpp"
#include "transport/rdma/queue_pair.hpp"
#include "transport/rdma/verbs.hpp"
#include "transport/rdma/work_requests.hpp"

namespace framewire {

/// One thread sets it up. Afterwards the owner guards the queues with its lock. disconnect() and take_end() need no
/// lock. What is not said here stands in ConnectedQueuePair.
class RdmaConnection final : public ConnectedQueuePair {
 public:
  /// Connects to an RDMA listener; `name` names the address in messages. `check_answer` gets the listener's private
  /// data and throws when it does not prove the expected peer. Throws Error: lost_peer (no device here, no route, no
  /// listener there, no answer until the deadline), refused (the other side rejects the connection), failed (the device
  /// lacks a feature).
  static std::unique_ptr<RdmaConnection> dial(const sockaddr& to, const std::string& name, const RdmaPrivateData& hello,
                                              const std::function<void(std::span<const std::byte>)>& check_answer,
                                              const RdmaOptions& options, std::int64_t deadline_ns);

  /// Accepts a connection request. Throws Error as dial() does.
  static std::unique_ptr<RdmaConnection> accept(RdmaConnectRequest request, const RdmaOptions& options,
                                                std::int64_t deadline_ns);

  RdmaConnection(const RdmaConnection&) = delete;
  RdmaConnection& operator=(const RdmaConnection&) = delete;
  ~RdmaConnection() override { manager_.disconnect(); }

  [[nodiscard]] ibv_qp* queue_pair() const noexcept override { return queues_->get(); }
  [[nodiscard]] ibv_cq* send_completions() const noexcept override { return queues_->send_completions(); }
  [[nodiscard]] ibv_cq* receive_completions() const noexcept override { return queues_->receive_completions(); }
  [[nodiscard]] const std::shared_ptr<ibv_pd>& protection_domain() const noexcept override {
    return queues_->protection_domain();
  }
  [[nodiscard]] const RdmaCapabilities& capabilities() const noexcept override { return queues_->capabilities(); }
  [[nodiscard]] std::int64_t peer_timeout_ns() const noexcept override { return options_.peer_timeout_ns; }
  bool request_notification() noexcept override { return queues_->request_notification(); }
  void take_notifications() noexcept override { queues_->take_notifications(); }
  [[nodiscard]] int completion_descriptor() const noexcept override { return queues_->completion_descriptor(); }
  [[nodiscard]] std::string port_trouble() const override { return manager_.port_trouble(); }
  void disconnect() noexcept override { manager_.disconnect(); }

  /// Registered memory of RdmaOptions::staging_bytes_per_request for each request; null when that is 0.
  [[nodiscard]] const std::shared_ptr<const MemoryRegion>& staging() const noexcept { return queues_->staging(); }
  [[nodiscard]] bool is_dialler() const noexcept { return is_dialler_; }

  /// immediate_of(): the immediate of a completed receive; nothing when the receive brought none. hold_receive(): marks
  /// the completion's receive for posting again. post_held_receives(): posts all marked receives in few calls; false
  /// when the QP is in error. All three under the owner's lock.
  [[nodiscard]] std::optional<std::uint32_t> immediate_of(const ibv_wc& completion) const noexcept {
    return queues_->immediate_of(completion);
  }
  void hold_receive(const ibv_wc& completion) noexcept { queues_->hold_receive(completion); }
  bool post_held_receives() noexcept { return queues_->post_held_receives(); }

  /// event_descriptor() is readable when rdma_cm has an event. take_end() returns the reason when the connection has
  /// ended.
  [[nodiscard]] int event_descriptor() const noexcept { return manager_.event_descriptor(); }
  std::optional<std::string> take_end() noexcept { return manager_.take_end(); }

  /// device_event_descriptor() is readable when the device has an asynchronous event, of this connection or of another
  /// one. take_device_events() returns the events of this connection and of the device as a whole. One thread.
  [[nodiscard]] int device_event_descriptor() const noexcept { return manager_.id().verbs->async_fd; }
  std::vector<DeviceEvent> take_device_events() { return queues_->take_device_events(); }
  /// Logs a message. Any thread.
  void say(LogLevel level, const std::string& text) const {
    if (options_.say) {
      options_.say(level, text);
    }
  }
  [[nodiscard]] std::string device_name() const { return ibv_get_device_name(manager_.id().verbs->device); }

 private:
  RdmaConnection(RdmaOptions options, std::string peer, bool is_dialler);

  const RdmaOptions options_;
  const bool is_dialler_;
  RdmaConnectionManager manager_;  // destroyed last: destroying its id may close the device
  std::optional<RdmaQueuePair> queues_;
};

}  // namespace framewire
