// Posting work requests (WR) of one's own to an RDMA device: a connected queue pair, registered memory, the send queue,
// and the words for what fails. The other folders' way to verbs: bench/ includes nothing else of this one.
#pragma once

#include <infiniband/verbs.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "base/fixed_queue.hpp"
#include "memory/host_block.hpp"
#include "transport/link_provider.hpp"

namespace framewire {

// ---- The connected queue pair ----

/// What the device granted, which may be less than RdmaPreferences ask for.
struct RdmaCapabilities {
  std::uint32_t send_depth = 0;     // work requests that may be in flight
  std::uint32_t receive_depth = 0;  // immediates that may arrive before the owner takes one
  std::uint32_t inline_bytes = 0;
  std::uint64_t chunk_bytes = 0;  // the longest single write
  bool has_immediate = true;      // RDMA WRITE WITH IMMEDIATE: not on iWARP
  bool has_windows = false;       // type 2B memory windows, as the device says
};

/// A reliable queue pair (QP) that is connected, with its two completion queues (CQ). Owns them: handles are valid
/// until its destructor, which disconnects. RdmaConnection is one. The owner guards the queues with its lock, or uses
/// them in one thread; port_trouble() and disconnect() may be called on any thread.
class ConnectedQueuePair {
 public:
  virtual ~ConnectedQueuePair() = default;
  ConnectedQueuePair(const ConnectedQueuePair&) = delete;
  ConnectedQueuePair& operator=(const ConnectedQueuePair&) = delete;

  [[nodiscard]] virtual ibv_qp* queue_pair() const noexcept = 0;
  [[nodiscard]] virtual ibv_cq* send_completions() const noexcept = 0;
  [[nodiscard]] virtual ibv_cq* receive_completions() const noexcept = 0;
  /// The protection domain (PD) of the QP. Memory that its work requests name is registered there.
  [[nodiscard]] virtual const std::shared_ptr<ibv_pd>& protection_domain() const noexcept = 0;
  [[nodiscard]] virtual const RdmaCapabilities& capabilities() const noexcept = 0;
  /// The device reports a peer that has not acknowledged for this long, or up to twice as long.
  [[nodiscard]] virtual std::int64_t peer_timeout_ns() const noexcept = 0;

  /// request_notification() makes completion_descriptor() readable at the next completion of either CQ. Completions
  /// before the call are not reported. Costs nothing while the last request still stands. False when the device is
  /// gone. take_notifications() reads the descriptor empty.
  virtual bool request_notification() noexcept = 0;
  virtual void take_notifications() noexcept = 0;
  [[nodiscard]] virtual int completion_descriptor() const noexcept = 0;

  /// A suffix for the error message of a lost connection: this side's own port is not active. Empty when it is active.
  /// Asks the device.
  [[nodiscard]] virtual std::string port_trouble() const = 0;

  /// Tells the other side, and flushes every posted request. A second call does nothing.
  virtual void disconnect() noexcept = 0;

 protected:
  ConnectedQueuePair() = default;
};

/// The queue pair of an authenticated connection of the rdma link (dial_data(), accept_data()). Throws Error for a
/// connection of another link.
std::unique_ptr<ConnectedQueuePair> queue_pair_of(LinkConnection connection);

// ---- Registered memory ----

/// Registered memory: a memory region (MR). It keeps its block and its PD alive. The last holder deregisters it, after
/// the QP has flushed every request that names it.
struct MemoryRegion {
  std::shared_ptr<ibv_pd> protection_domain;
  std::shared_ptr<const Block> block;
  std::shared_ptr<ibv_mr> mr;
  std::uint64_t address = 0;  // of the first byte, as work requests name it

  // Only of a device's memory:
  std::string reached{};         // "the memory of the GPU NVIDIA H200 by DMA-BUF"
  MemoryAccess access{};         // the same for start lines
  bool needs_read_back = false;  // RegisteredAs::needs_read_back, which always holds of data-direct

  /// Only of a host block.
  [[nodiscard]] std::span<std::byte> bytes() const noexcept { return block->host()->bytes(); }
};

/// The ways to a device's memory (MemoryAccess::way) by which nothing arrived in a trial, and why not.
using ClosedWays = std::map<std::string, std::string>;

/// A PD on a device. Any thread. Throws Error (failed).
std::shared_ptr<ibv_pd> allocate_protection_domain(ibv_context* device);

/// Registers a whole block of any kind with `access` (ibv_access_flags). Drops optional access flags that the device
/// refuses (IBV_ACCESS_RELAXED_ORDERING; a kernel before 5.8 ignores it). Any thread. Throws Error (failed). When
/// RLIMIT_MEMLOCK is the cause, the message says the limit, the size needed and how to raise the limit. A device's
/// memory is registered as transport/rdma/device_memory.hpp says, by none of `closed_ways`.
std::shared_ptr<const MemoryRegion> register_memory(const std::shared_ptr<ibv_pd>& protection_domain,
                                                    std::shared_ptr<const Block> block, unsigned access,
                                                    const ClosedWays& closed_ways = {});

// ---- The send queue ----

/// Detects a send queue that makes no progress although the device should long have reported an error. A device
/// normally gives up on a silent peer and reports this by a completion. Some do not: Soft-RoCE of Linux 6.1 left READs
/// in flight for minutes, without answer or error, when one packet of a hundred was lost. One thread.
class StallDetector {
 public:
  /// `peer_timeout_ns` is the timeout that the device was given; it may take twice as long (InfiniBand specification,
  /// 9.7.6.1.3, and connection_manager.cpp).
  explicit StallDetector(std::int64_t peer_timeout_ns) noexcept;

  /// Whether the next completion is overdue. Call it a few times a second. `completed`: requests that are complete.
  /// `awaits`: a signalled request is in flight, with `awaited_bytes` of payload up to its end.
  bool is_stalled(std::int64_t now_ns, std::uint64_t completed, bool awaits, std::uint64_t awaited_bytes) noexcept;

 private:
  std::int64_t timeout_ns_;
  std::int64_t progress_ns_ = 0;
  std::uint64_t completed_ = 0;
};

/// Which work requests of a QP are posted, and which of them are complete. They complete in the order of posting, and
/// only some are signalled: one completion covers all requests before it. Guarded by its owner's lock. Nobody else
/// posts sends to this QP or polls its CQ.
class SendQueue {
 public:
  /// The connection outlives this.
  explicit SendQueue(const ConnectedQueuePair& connection);

  /// How many requests can be posted now.
  [[nodiscard]] std::uint32_t room() const noexcept {
    return depth_ - static_cast<std::uint32_t>(posted_ - completed_);
  }
  /// Work requests posted, and known to be complete: request n (counted from 0) is complete when completed() > n.
  [[nodiscard]] std::uint64_t posted() const noexcept { return posted_; }
  [[nodiscard]] std::uint64_t completed() const noexcept { return completed_; }
  /// awaits_completion(): a signalled request is in flight. awaited_bytes(): the payload up to the end of the first
  /// one.
  [[nodiscard]] bool awaits_completion() const noexcept { return !signalled_.empty(); }
  [[nodiscard]] std::uint64_t awaited_bytes() const noexcept {
    return awaits_completion() ? signalled_.front().bytes_before - completed_bytes_ : 0;
  }

  /// Whether the device has completed nothing for too long. Call it a few times a second at least.
  [[nodiscard]] bool is_stalled(std::int64_t now_ns) noexcept {
    return stall_.is_stalled(now_ns, completed_, awaits_completion(), awaited_bytes());
  }

  /// Chains and posts `requests` in one call: at least one, at most room(). Signals one in every half queue, and those
  /// that the caller has marked. False when the device refuses: the QP is in error.
  bool post(std::span<ibv_send_wr> requests) noexcept;

  /// Posts an empty write, unless a signalled request is in flight. A peer that is gone cannot acknowledge it. False
  /// when the device refuses.
  bool post_probe() noexcept;

  /// Polls the completions. Returns the first real fault, if there is one: the device only flushes the requests after
  /// it.
  std::optional<ibv_wc_status> poll() noexcept;

 private:
  struct Signalled {
    std::uint64_t end = 0;           // requests up to this one, inclusive
    std::uint64_t bytes_before = 0;  // payload of those requests
  };

  void take_completed(std::uint64_t number) noexcept;

  ibv_qp* const queue_pair_;
  ibv_cq* const completions_;
  const std::uint32_t depth_;
  StallDetector stall_;
  FixedQueue<Signalled> signalled_;  // in flight
  std::uint64_t posted_bytes_ = 0;
  std::uint64_t completed_bytes_ = 0;
  std::uint64_t posted_ = 0;
  std::uint64_t completed_ = 0;
  std::uint64_t last_signalled_ = 0;  // posted_ after the last signalled request
};

// ---- The words for what fails ----

/// The error message for a failed request to `peer` ("the other end").
std::string describe_fault(ibv_wc_status status, const std::string& peer);
/// The error message for a device on which SendQueue::is_stalled().
std::string describe_stall(const std::string& peer);

}  // namespace framewire
