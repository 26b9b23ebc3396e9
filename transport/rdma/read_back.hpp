// Reading back from a device's memory, so that what a peer has written there is seen.
#pragma once

#include <cstdint>
#include <memory>

#include "transport/rdma/loopback_pair.hpp"
#include "transport/rdma/work_requests.hpp"

namespace framewire {

/// Where MemoryRegion::needs_read_back. A write that has completed may still be on its way to the memory. A read by the
/// same device, through the same registration, pushes it there: no read passes the writes before it on that way, so
/// when the read's byte is here, the writes are there.
///
/// One READ at a time is in flight, on a queue pair of its own. What is asked for meanwhile shares the next one.
/// Nothing waits for a READ but settle(). The owner guards it with its lock.
class ReadBack {
 public:
  /// In the connection's PD. At set-up. Throws Error (failed).
  explicit ReadBack(const ConnectedQueuePair& connection);

  /// Asks for a READ of a byte at `offset_bytes` of the region, which lives until the READ is done. All that has
  /// completed in the region before this call is seen once has_done() the result.
  std::uint64_t ask(const MemoryRegion& region, std::uint64_t offset_bytes) noexcept;
  /// Takes the completion of the READ in flight, and posts the next one.
  [[nodiscard]] bool has_done(std::uint64_t number) noexcept;
  /// Waits until all that was asked for is done, has failed, or is overdue: for microseconds, and at most 2 s for
  /// each of two READs.
  void settle() noexcept;
  /// Why nothing will be done any more: a READ has failed, or has not ended within 2 s. Null: all is well.
  [[nodiscard]] const char* fault() noexcept;

  /// request_notification() makes descriptor() readable at the next completion. Those before the call are not reported.
  /// False when the device is gone.
  bool request_notification() noexcept;
  void take_notifications() noexcept;
  [[nodiscard]] int descriptor() const noexcept { return channel_->fd; }

 private:
  void advance() noexcept;
  void post() noexcept;

  // In the order of their making: the last one goes first.
  std::shared_ptr<const MemoryRegion> landing_;
  VerbsPtr<ibv_comp_channel> channel_;
  LoopbackPair pair_;
  std::uint64_t asked_ = 0;
  std::uint64_t posted_ = 0;  // what the READ in flight, or the last one, is for
  std::uint64_t done_ = 0;
  std::uint64_t address_ = 0;  // of the next READ
  std::uint32_t key_ = 0;
  std::int64_t posted_ns_ = 0;
  const char* fault_ = nullptr;
  bool is_notification_requested_ = false;
};

}  // namespace framewire
