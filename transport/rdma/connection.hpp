// One reliable connected queue pair, from its dialling or accepting to its end: the connection manager's part of it
// (connection_manager.hpp) and the queues (queue_pair.hpp) together.
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

/// Set up by one thread. Afterwards the queues are the owner's to guard; disconnect() and take_end() may run beside.
class RdmaConnection {
 public:
  /// Connects to an RDMA listener at an address, which `name` names for people. `check_answer` gets what it answered,
  /// and throws when it is not who it should be. Throws Error: lost_peer (no device here, no route, nobody there, no
  /// answer until the deadline), refused (the other side rejects the connection), failed (the device lacks something).
  static std::unique_ptr<RdmaConnection> dial(const sockaddr& to, const std::string& name, const RdmaPrivateData& hello,
                                              const std::function<void(std::span<const std::byte>)>& check_answer,
                                              const RdmaOptions& options, std::int64_t deadline_ns);

  /// Answers a request. Throws Error as above.
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
  /// For the end of a sentence about a connection that was lost: that this end's own port is not active, if it is not.
  /// The device is asked; any thread.
  [[nodiscard]] std::string port_trouble() const { return manager_.port_trouble(); }
  [[nodiscard]] std::int64_t peer_timeout_ns() const noexcept { return options_.peer_timeout_ns; }
  [[nodiscard]] const RdmaCapabilities& capabilities() const noexcept { return queues_->capabilities(); }
  /// As the options asked; none where they did not.
  [[nodiscard]] const std::shared_ptr<const MemoryRegion>& staging() const noexcept { return queues_->staging(); }
  /// Whether this end dialled.
  [[nodiscard]] bool is_dialler() const noexcept { return is_dialler_; }

  /// The immediate that a completed receive brought; nothing when it brought something else. Under the owner's lock, as
  /// hold_receive(), which notes that its place may be given to the next one, and post_held_receives(), which does that
  /// for all of them in few calls; false when the queue pair is in error.
  [[nodiscard]] std::optional<std::uint32_t> immediate_of(const ibv_wc& completion) const noexcept {
    return queues_->immediate_of(completion);
  }
  void hold_receive(const ibv_wc& completion) noexcept { queues_->hold_receive(completion); }
  bool post_held_receives() noexcept { return queues_->post_held_receives(); }

  /// Asks that completion_descriptor() becomes readable at the next completion of either queue; what has completed
  /// before is not told of. Costs nothing while the last request still stands. False when the device is gone. Under the
  /// owner's lock, as take_notifications(), which reads the descriptor empty.
  bool request_notification() noexcept { return queues_->request_notification(); }
  void take_notifications() noexcept { queues_->take_notifications(); }
  [[nodiscard]] int completion_descriptor() const noexcept { return queues_->completion_descriptor(); }

  /// Readable when the connection manager has something to say; take_end() says why the connection has ended, if it
  /// has.
  [[nodiscard]] int event_descriptor() const noexcept { return manager_.event_descriptor(); }
  std::optional<std::string> take_end() noexcept { return manager_.take_end(); }

  /// Readable when the device has something to say, of this connection or of another one; take_device_events() says
  /// what concerns this one, or the device as a whole. One thread.
  [[nodiscard]] int device_event_descriptor() const noexcept { return manager_.id().verbs->async_fd; }
  std::vector<DeviceEvent> take_device_events() { return queues_->take_device_events(); }
  /// A line for a person. Any thread.
  void say(LogLevel level, const std::string& text) const {
    if (options_.say) {
      options_.say(level, text);
    }
  }
  [[nodiscard]] std::string device_name() const { return ibv_get_device_name(manager_.id().verbs->device); }

  /// Tells the other side, and ends every request that is still posted. Any thread; a second call does nothing.
  void disconnect() noexcept { manager_.disconnect(); }

 private:
  RdmaConnection(const RdmaOptions& options, std::string peer, bool is_dialler);

  const RdmaOptions options_;
  const bool is_dialler_;
  RdmaConnectionManager manager_;  // goes last: with its id the library may close the device that the others belong to
  std::optional<RdmaQueuePair> queues_;
};

}  // namespace framewire
