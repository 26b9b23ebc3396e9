// The common part of all rdma links: a connection, its send queue, its state, and a monitor.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "base/file_descriptor.hpp"
#include "transport/link.hpp"
#include "transport/rdma/connection.hpp"
#include "transport/rdma/connection_monitor.hpp"
#include "transport/rdma/work_requests.hpp"

namespace framewire {

/// The most work requests in one ibv_post_send(); each call rings the doorbell once. A 4K frame with four bytes a pixel
/// needs 32 requests of 1 MiB and its announcement.
inline constexpr std::size_t max_in_post = 64;

/// Owned by its link. The link guards its own members with the same mutex.
class RdmaLinkCore {
 public:
  /// Both are called on the monitor's thread, under the mutex.
  struct Callbacks {
    std::function<void()> before_end{};  // the peer has closed; the link takes what arrived completely before that
    std::function<void()> on_tick{};     // a few times a second
  };

  /// Takes an authenticated connection. `peer` names the other side in messages: "the viewer". Throws Error.
  RdmaLinkCore(std::unique_ptr<RdmaConnection> connection, std::string peer);
  ~RdmaLinkCore() { stop(); }
  RdmaLinkCore(const RdmaLinkCore&) = delete;
  RdmaLinkCore& operator=(const RdmaLinkCore&) = delete;

  /// start_monitor(): from now on a peer that closes is noticed, and one that is silent while nothing is in flight.
  /// Call it last in the link's constructor. stop() ends the callbacks and the connection. Call it first in the link's
  /// destructor.
  void start_monitor(Callbacks callbacks);
  void stop() noexcept;

  // ---- Any thread ----

  [[nodiscard]] std::mutex& mutex() const noexcept { return mutex_; }
  [[nodiscard]] RdmaConnection& connection() noexcept { return *connection_; }
  [[nodiscard]] const RdmaConnection& connection() const noexcept { return *connection_; }
  [[nodiscard]] LinkState state() const noexcept { return state_.load(std::memory_order_acquire); }
  [[nodiscard]] bool is_open() const noexcept { return state() == LinkState::open; }
  /// The error message of a state other than open. Takes the mutex; asks the device after releasing it.
  [[nodiscard]] std::string fault() const;
  /// Readable at a requested completion (ConnectedQueuePair::request_notification) and when the state changes.
  [[nodiscard]] int descriptor() const noexcept { return poller_.get(); }
  /// A past change of state no longer makes descriptor() readable.
  void clear_end() noexcept { clear_eventfd(end_event_.get()); }

  /// Polls completions until `is_done`, which is called under the mutex, returns true. False when the deadline passes
  /// or the link ends first.
  bool await(const std::function<bool()>& is_done, std::int64_t deadline_ns);

  // ---- Under the mutex ----

  [[nodiscard]] SendQueue& sends() noexcept { return sends_; }
  [[nodiscard]] std::uint32_t room() const noexcept { return sends_.room(); }
  [[nodiscard]] std::uint64_t completed() const noexcept { return sends_.completed(); }
  /// SendQueue::post(); a refusal ends the link.
  bool post(std::span<ibv_send_wr> requests) noexcept;
  /// SendQueue::post_probe(); a refusal ends the link.
  void post_probe() noexcept;
  /// SendQueue::poll(); a fault ends the link. True when something has completed.
  bool poll_sends() noexcept;
  /// Requests a notification of the next completion; a device that is gone ends the link.
  void request_notification() noexcept;
  /// Releases registered memory on the monitor's thread, without the mutex, because deregistering takes long. Does not
  /// allocate for up to max_retired objects between two runs of the monitor.
  void retire(std::shared_ptr<const void> memory) noexcept;
  /// Ends the link. Only the first call has an effect.
  void fail(LinkState state, std::string why) noexcept;
  /// Ends the link after a failed completion of either queue.
  void fail_by(ibv_wc_status status) noexcept { fail(LinkState::lost, describe_fault(status, peer_)); }

 private:
  static constexpr std::size_t max_retired = 64;

  void check_connection() noexcept;
  void on_peer_closed(const std::string& what) noexcept;
  void on_device_event(const DeviceEvent& event);

  std::unique_ptr<RdmaConnection> connection_;
  const std::string peer_;
  FileDescriptor end_event_;
  FileDescriptor poller_;
  std::atomic<LinkState> state_ = LinkState::open;

  mutable std::mutex mutex_;
  SendQueue sends_;
  std::string fault_;
  Callbacks callbacks_;
  std::vector<std::shared_ptr<const void>> retired_;
  std::vector<std::shared_ptr<const void>> leaving_;  // used by the monitor's thread

  std::unique_ptr<ConnectionMonitor> monitor_;
};

}  // namespace framewire
