// The common part of all rdma links: a connection, its send queue, its state, and what notices that the peer is gone.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/file_descriptor.hpp"
#include "transport/link.hpp"
#include "transport/rdma/connection.hpp"
#include "transport/rdma/work_requests.hpp"

namespace framewire {

/// The most work requests in one ibv_post_send(); each call rings the doorbell once. A 4K frame with four bytes a pixel
/// needs 32 requests of 1 MiB and its announcement.
inline constexpr std::size_t max_in_post = 64;

/// Owned by its link. The link guards its own members with the same mutex.
class RdmaLinkCore {
 public:
  /// Takes an authenticated connection. `peer` names the other side in messages: "the viewer". Throws Error.
  RdmaLinkCore(std::unique_ptr<RdmaConnection> connection, std::string peer);
  RdmaLinkCore(const RdmaLinkCore&) = delete;
  RdmaLinkCore& operator=(const RdmaLinkCore&) = delete;

  // ---- The thread of LinkEnd::maintain(), without the mutex ----

  /// Reads the events of rdma_cm and of the device, asks whether the peer is there, releases retired memory. A peer
  /// that closes is noticed at once. A peer whose host is gone is noticed only by a work request that is not
  /// acknowledged, and this posts one if none is in flight.
  void maintain() noexcept;
  /// Readable at an event, also at one of another connection of the device.
  [[nodiscard]] int maintenance_descriptor() const noexcept { return events_poller_.get(); }

  /// Polls completions until `is_done`, which is called under the mutex, returns true. False when the deadline passes,
  /// the link ends first, which the events also tell, or `stop`, called without the mutex, returns true. On the thread
  /// of maintain(), or in the link's destructor.
  bool await(const std::function<bool()>& is_done, std::int64_t deadline_ns, const StopCheck& stop = {});
  /// An epoch's frames lie in this region: from now on access_to() tells how the RDMA device reaches it. Logs that of a
  /// device's memory, once until it changes, and with it whether access_to() told another way before.
  void set_access(const MemoryRegion& memory_region);
  /// LinkEnd::access_to(): as set_access() was told last; before that, as a trial says. All calls are about the same
  /// kind of memory, or about host memory.
  [[nodiscard]] MemoryAccess access_to(const MemoryKind& memory) const;
  /// SenderLink::takes(), ReceiverLink::takes().
  [[nodiscard]] bool takes(const MemoryKind& memory) const noexcept {
    return memory.is_host() || !tried_ || !tried_->is_by_copies();
  }

  // ---- Any thread ----

  [[nodiscard]] std::mutex& mutex() const noexcept { return mutex_; }
  /// The link's destructor disconnects it first, so that no request in flight names memory that the link frees.
  [[nodiscard]] RdmaConnection& connection() noexcept { return *connection_; }
  [[nodiscard]] const RdmaConnection& connection() const noexcept { return *connection_; }
  [[nodiscard]] LinkState state() const noexcept { return state_.load(std::memory_order_acquire); }
  [[nodiscard]] bool is_open() const noexcept { return state() == LinkState::open; }
  /// The error message of a state other than open. Takes the mutex; asks the device after releasing it.
  [[nodiscard]] std::string fault() const;
  /// Readable at a requested completion (ConnectedQueuePair::request_notification) and when the state changes.
  [[nodiscard]] int descriptor() const noexcept { return poller_.get(); }
  /// From now on descriptor() is also readable when this one is, until that is closed. Throws Error (failed).
  void watch(int descriptor) const;
  /// A past change of state no longer makes descriptor() readable.
  void clear_end() noexcept { clear_eventfd(end_event_.get()); }

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
  /// Also once after the link has ended: who arms it may have missed the event of the end.
  [[nodiscard]] bool has_no_end_to_report() noexcept { return is_open() || std::exchange(end_reported_, true); }
  /// Has the next maintain() release registered memory, without the mutex: deregistering takes long, and this may be
  /// the thread of a source. Does not allocate for up to max_retired objects between two calls of maintain().
  void retire(std::shared_ptr<const void> memory) noexcept;
  /// Ends the link. Only the first call has an effect.
  void fail(LinkState state, std::string why) noexcept;
  /// Ends the link after a failed completion of either queue.
  void fail_by(ibv_wc_status status) noexcept { fail(LinkState::lost, describe_fault(status, peer_)); }

 private:
  static constexpr std::size_t max_retired = 64;

  void say_how_reached(const MemoryRegion& memory_region);
  void take_events() noexcept;
  void take_end();
  bool take_device_events();

  std::unique_ptr<RdmaConnection> connection_;
  const std::string peer_;
  FileDescriptor end_event_;
  FileDescriptor poller_;
  FileDescriptor events_poller_;
  std::atomic<LinkState> state_ = LinkState::open;
  // set_access(), access_to() and takes() only:
  std::string said_reached_;
  std::optional<MemoryAccess> access_;
  mutable std::optional<MemoryAccess> tried_;
  mutable std::optional<std::string> told_way_;  // that was named last

  mutable std::mutex mutex_;
  SendQueue sends_;
  std::string fault_;
  bool end_reported_ = false;
  std::vector<std::shared_ptr<const void>> retired_;
  std::vector<std::shared_ptr<const void>> leaving_;  // used by maintain() only; empty between two calls
};

}  // namespace framewire
