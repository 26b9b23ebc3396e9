// What every end of an rdma link has, whichever way the bytes go: a connection, its send queue, its state, and a watch.
#pragma once

#include <atomic>
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
#include "transport/rdma/send_queue.hpp"

namespace framewire {

/// Owned by its link, which guards its own records by the same mutex.
class RdmaEndpoint {
 public:
  /// What the link has to do at certain times. Both are called on the watch's thread, under the mutex.
  struct Callbacks {
    std::function<void()> before_end{};  // the peer has closed: what came whole before that stays received
    std::function<void()> on_tick{};     // a few times a second
  };

  /// Takes a proven connection with `peer`, which stands in sentences: "the viewer". Throws Error.
  RdmaEndpoint(std::unique_ptr<RdmaConnection> connection, std::string peer);
  ~RdmaEndpoint() { stop(); }
  RdmaEndpoint(const RdmaEndpoint&) = delete;
  RdmaEndpoint& operator=(const RdmaEndpoint&) = delete;

  /// From now on a peer that closes, or is silent while nothing is under way, is noticed. Last in the link's
  /// constructor; stop() first in its destructor: the calls end with it, and so does the connection.
  void start_monitor(Callbacks callbacks);
  void stop() noexcept;

  // ---- Any thread ----

  [[nodiscard]] std::mutex& mutex() const noexcept { return mutex_; }
  [[nodiscard]] RdmaConnection& connection() noexcept { return *connection_; }
  [[nodiscard]] const RdmaConnection& connection() const noexcept { return *connection_; }
  [[nodiscard]] LinkState state() const noexcept { return state_.load(std::memory_order_acquire); }
  [[nodiscard]] bool is_open() const noexcept { return state() == LinkState::open; }
  /// The sentence for a state other than open. Takes the mutex; asks the device, without it.
  [[nodiscard]] std::string fault() const;
  /// Readable at a completion that was asked for (RdmaConnection::request_notification), and when the state changes.
  [[nodiscard]] int descriptor() const noexcept { return poller_.get(); }
  /// Until the next change of the state that one is no reason to be readable.
  void clear_end() noexcept { clear_eventfd(end_event_.get()); }

  /// Takes in completions until `is_done`, which is called under the mutex, says so. False when the deadline or the end
  /// of the link comes first.
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
  /// Asks for notice of the next completion; a device that is gone ends the link.
  void request_notification() noexcept;
  /// Lets go of registered memory on the watch's thread, without the mutex: that takes a while. Allocates nothing for
  /// up to max_retired of them between two looks.
  void retire(std::shared_ptr<const void> memory) noexcept;
  /// The first one counts.
  void fail(LinkState state, std::string why) noexcept;
  /// A completion that came with a fault, of this queue or the other.
  void fail_by(ibv_wc_status status) noexcept { fail(LinkState::lost, describe_fault(status, peer_)); }

 private:
  static constexpr std::size_t max_retired = 64;

  void check_connection() noexcept;
  void on_peer_closed(const std::string& what) noexcept;
  void hear_device(const DeviceEvent& event);

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
  std::vector<std::shared_ptr<const void>> leaving_;  // the watch's thread

  std::unique_ptr<ConnectionMonitor> monitor_;
};

}  // namespace framewire
