// One reliable connected queue pair (QP), from dialling or accepting to its end. It combines the connection manager's
// part (connection_manager.hpp) and the queues (queue_pair.hpp).
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
#include "transport/rdma/memory_region.hpp"
#include "transport/rdma/options.hpp"
#include "transport/rdma/queue_pair.hpp"
#include "transport/rdma/verbs.hpp"

namespace framewire {

/// One thread sets it up. Afterwards the owner guards the queues with its lock. disconnect() and take_end() need no
/// lock.
class RdmaConnection {
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
  ~RdmaConnection() { disconnect(); }

  [[nodiscard]] ibv_qp* queue_pair() const noexcept { return queues_->get(); }
  [[nodiscard]] const std::shared_ptr<ibv_pd>& protection_domain() const noexcept {
    return queues_->protection_domain();
  }
  [[nodiscard]] ibv_cq* send_completions() const noexcept { return queues_->send_completions(); }
  [[nodiscard]] ibv_cq* receive_completions() const noexcept { return queues_->receive_completions(); }
  /// A suffix for the error message of a lost connection: this side's own port is not active. Empty when it is active.
  /// Asks the device. Any thread.
  [[nodiscard]] std::string port_trouble() const { return manager_.port_trouble(); }
  [[nodiscard]] std::int64_t peer_timeout_ns() const noexcept { return options_.peer_timeout_ns; }
  [[nodiscard]] const RdmaCapabilities& capabilities() const noexcept { return queues_->capabilities(); }
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

  /// request_notification() makes completion_descriptor() readable at the next completion of either queue. Completions
  /// before the call are not reported. Costs nothing while the last request still stands. False when the device is
  /// gone. take_notifications() reads the descriptor empty. Both under the owner's lock.
  bool request_notification() noexcept { return queues_->request_notification(); }
  void take_notifications() noexcept { queues_->take_notifications(); }
  [[nodiscard]] int completion_descriptor() const noexcept { return queues_->completion_descriptor(); }

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

  /// Tells the other side, and flushes every posted request. Any thread; a second call does nothing.
  void disconnect() noexcept { manager_.disconnect(); }

 private:
  RdmaConnection(RdmaOptions options, std::string peer, bool is_dialler);

  const RdmaOptions options_;
  const bool is_dialler_;
  RdmaConnectionManager manager_;  // destroyed last: destroying its id may close the device
  std::optional<RdmaQueuePair> queues_;
};

}  // namespace framewire
